-- Start a tenant from a snapshot whose chunks have been written: an imported model, or the state of a worker.
-- KEYS: meta, log, changes, headers, then for each known event the record of its feedback_id (meta if it has none)
-- ARGV: tenant, the incarnation that must be stored ('' for none), the new incarnation, version, chain, header,
--       milliseconds to keep records, incarnations that have ended (separated by spaces), then for each known event up
--       to that version: its version, chain, fingerprint ('' without feedback_id), payload
-- Returns 1, or 0 if another incarnation is stored.
local tenant, expected, born, version, chain, header = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local meta = redis.call('HMGET', KEYS[1], 'born', 'was')
if (meta[1] or '') ~= expected then return 0 end
redis.call('DEL', KEYS[2], KEYS[4])
if redis.call('EXISTS', KEYS[2] .. ':' .. born) == 1 then -- a log that was written aside for this incarnation
  redis.call('RENAME', KEYS[2] .. ':' .. born, KEYS[2])
  redis.call('PERSIST', KEYS[2])
end
local was = meta[2] or ''
for ended in string.gmatch(ARGV[8] .. ' ' .. expected, '%S+') do
  if ended ~= born and not string.find(was, ended, 1, true) then was = ended .. ' ' .. was end
end
was = string.sub(was, 1, 500)
redis.call('HDEL', KEYS[1], 'retracted', 'asked')
redis.call('HSET', KEYS[1], 'born', born, 'version', version, 'chain', chain, 'was', was)
redis.call('PERSIST', KEYS[1])
redis.call('HSET', KEYS[4], version, header)
for i = 5, #KEYS do
  local at = 4 * (i - 5) + 9
  redis.call('XADD', KEYS[2], '0-' .. ARGV[at], 'p', ARGV[at + 3], 'c', ARGV[at + 1])
  if ARGV[at + 2] ~= '' then
    redis.call('SET', KEYS[i], ARGV[at] .. ' ' .. ARGV[at + 2], 'PX', ARGV[7])
  end
end
local change = {'XADD', KEYS[3], 'MAXLEN', '~', 1000, '*', 't', tenant, 'v', '-1'}
local announced = redis.pcall(unpack(change))
if type(announced) == 'table' and announced.err then -- the feed is damaged; it is only a hint, the tenant is changed
  redis.pcall('DEL', KEYS[3])
  redis.pcall(unpack(change))
end
return 1
