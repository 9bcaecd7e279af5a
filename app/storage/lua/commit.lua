-- Make a written snapshot the newest one if the lock is still held, the tenant is still the same incarnation, and its
-- log has passed through that position: a worker may not know yet that the store has lost events that it applied. Nor
-- may it know yet that labels were taken back, which its state contains.
-- KEYS: lock, meta, log, headers, chunks
-- ARGV: token, incarnation, version, chain, header, the first version to keep in the log ('' for all), number of
--       headers to drop, their versions, the hashes of chunks without a header
-- Returns 1, or 0 if one of these conditions fails.
local version, chain = ARGV[3], ARGV[4]
local meta = redis.call('HMGET', KEYS[2], 'born', 'version', 'chain', 'retracted')
if redis.call('GET', KEYS[1]) ~= ARGV[1] or meta[1] ~= ARGV[2] then return 0 end
if meta[4] and tonumber(version) < tonumber(meta[4]) then return 0 end
if meta[2] == version then
  if meta[3] ~= chain then return 0 end
else
  local entry = redis.call('XRANGE', KEYS[3], '0-' .. version, '0-' .. version)[1]
  if not entry or entry[2][4] ~= chain then return 0 end -- its fields: p, payload, c, chain
end
redis.call('HSET', KEYS[4], version, ARGV[5])
local dropped = tonumber(ARGV[7])
for i = 8, 7 + dropped do redis.call('HDEL', KEYS[4], ARGV[i]) end
for i = 8 + dropped, #ARGV do redis.call('HDEL', KEYS[5], ARGV[i]) end
if ARGV[6] ~= '' then redis.call('XTRIM', KEYS[3], 'MINID', '0-' .. ARGV[6]) end
redis.call('DEL', KEYS[1])
return 1
