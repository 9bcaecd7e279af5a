-- Create a tenant's log unless it exists.
-- KEYS: meta
-- ARGV: the name of a new incarnation, incarnations that have ended (separated by spaces)
-- Returns {incarnation, version, chain}
local meta = redis.call('HMGET', KEYS[1], 'born', 'version', 'chain', 'was')
if meta[1] then return {meta[1], meta[2], meta[3]} end
redis.call('HSET', KEYS[1], 'born', ARGV[1], 'version', '0', 'chain', ARGV[1])
if ARGV[2] ~= '' and not meta[4] then redis.call('HSET', KEYS[1], 'was', string.sub(ARGV[2], 1, 500)) end
redis.call('PERSIST', KEYS[1])
return {ARGV[1], '0', ARGV[1]}
