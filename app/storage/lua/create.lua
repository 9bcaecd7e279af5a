-- Create a tenant's log unless it exists.
-- KEYS: meta
-- ARGV: the name of a new incarnation
-- Returns {incarnation, version, chain}
local meta = redis.call('HMGET', KEYS[1], 'born', 'version', 'chain')
if meta[1] then return meta end
redis.call('HSET', KEYS[1], 'born', ARGV[1], 'version', '0', 'chain', ARGV[1])
redis.call('PERSIST', KEYS[1])
return {ARGV[1], '0', ARGV[1]}
