-- Replace a damaged tenant by its repaired form, whose log and chunks have been written aside.
-- KEYS: meta, log, changes, headers, the log written aside
-- ARGV: tenant, the incarnation, version and chain that must be stored ('' for none), the names of incarnations that
--       end, the new incarnation, version, chain, then for each snapshot: its version, its header
-- Returns {'replaced'} | {'other'} | {'grown', version, chain, the entries behind the expected version}
local has_meta = redis.call('TYPE', KEYS[1]).ok == 'hash'
local meta = has_meta and redis.call('HMGET', KEYS[1], 'born', 'version', 'chain', 'was') or {}
local born, version, chain = meta[1] or '', meta[2] or '', meta[3] or ''
if born ~= ARGV[2] then return {'other'} end
if version ~= ARGV[3] or chain ~= ARGV[4] then
  if not string.match(ARGV[3], '^%d+$') then return {'other'} end
  local first = string.format('0-%.0f', tonumber(ARGV[3]) + 1)
  return {'grown', version, chain, redis.call('XRANGE', KEYS[2], first, '+', 'COUNT', 5000)}
end
if not has_meta then redis.call('DEL', KEYS[1]) end -- a value of another type
redis.call('DEL', KEYS[2], KEYS[4])
redis.call('HDEL', KEYS[1], 'retracted', 'asked')
if redis.call('EXISTS', KEYS[5]) == 1 then
  redis.call('RENAME', KEYS[5], KEYS[2])
  redis.call('PERSIST', KEYS[2])
end
local was = string.sub(ARGV[5] .. ' ' .. (meta[4] or ''), 1, 500)
redis.call('HSET', KEYS[1], 'born', ARGV[6], 'version', ARGV[7], 'chain', ARGV[8], 'was', was)
redis.call('PERSIST', KEYS[1])
for i = 9, #ARGV, 2 do redis.call('HSET', KEYS[4], ARGV[i], ARGV[i + 1]) end
redis.call('XADD', KEYS[3], 'MAXLEN', '~', 1000, '*', 't', ARGV[1], 'v', '-1')
return {'replaced'}
