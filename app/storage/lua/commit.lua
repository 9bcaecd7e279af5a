-- Make a written snapshot the newest one, if the lock is still held and the tenant still lives that life.
-- KEYS: lock, meta, log, headers, chunks
-- ARGV: token, born, version, header, the first version to be kept in the log ('' for all), number of headers to drop,
--       their versions, the hashes of chunks that nothing refers to any more
-- Answers 1, or 0 if it was too late.
if redis.call('GET', KEYS[1]) ~= ARGV[1] or redis.call('HGET', KEYS[2], 'born') ~= ARGV[2] then return 0 end
redis.call('HSET', KEYS[4], ARGV[3], ARGV[4])
local dropped = tonumber(ARGV[6])
for i = 7, 6 + dropped do redis.call('HDEL', KEYS[4], ARGV[i]) end
for i = 7 + dropped, #ARGV do redis.call('HDEL', KEYS[5], ARGV[i]) end
if ARGV[5] ~= '' then redis.call('XTRIM', KEYS[3], 'MINID', '0-' .. ARGV[5]) end
redis.call('DEL', KEYS[1])
return 1
