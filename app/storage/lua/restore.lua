-- Put a deleted tenant back, as a new incarnation whose log has been written aside.
-- KEYS: meta, log, changes, headers, chunks, the log written aside, the hash of deleted incarnations
-- ARGV: tenant, the deleted incarnation, the new one, version, chain, then for each snapshot: its version, its header
-- Returns 'restored' | 'exists' | 'gone'
local deleted = ARGV[2]
if redis.call('HGET', KEYS[1], 'born') then return 'exists' end
if redis.call('HEXISTS', KEYS[7], deleted) == 0 then return 'gone' end
redis.call('DEL', KEYS[2], KEYS[4], KEYS[5])
if redis.call('EXISTS', KEYS[6]) == 1 then
  redis.call('RENAME', KEYS[6], KEYS[2])
  redis.call('PERSIST', KEYS[2])
end
local aside = KEYS[7] .. ':' .. deleted .. ':'
if redis.call('EXISTS', aside .. 'chunks') == 1 then
  redis.call('RENAME', aside .. 'chunks', KEYS[5])
  redis.call('PERSIST', KEYS[5])
end
for i = 6, #ARGV, 2 do redis.call('HSET', KEYS[4], ARGV[i], ARGV[i + 1]) end
redis.call('HSET', KEYS[1], 'born', ARGV[3], 'version', ARGV[4], 'chain', ARGV[5])
redis.call('PERSIST', KEYS[1])
redis.call('UNLINK', aside .. 'log', aside .. 'headers')
redis.call('HDEL', KEYS[7], deleted)
redis.call('XADD', KEYS[3], 'MAXLEN', '~', 1000, '*', 't', ARGV[1], 'v', '-1')
return 'restored'
