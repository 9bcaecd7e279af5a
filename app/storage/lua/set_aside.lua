-- Remove a snapshot that cannot be used; its header is kept for an operator to inspect.
-- KEYS: meta, headers, aside
-- ARGV: the incarnation that it was read for, version
-- Returns 1, or 0 if the tenant is another incarnation by now, whose snapshot it may be.
if redis.call('HGET', KEYS[1], 'born') ~= ARGV[1] then return 0 end
local header = redis.call('HGET', KEYS[2], ARGV[2])
if header then redis.call('HSET', KEYS[3], ARGV[2], header) end
redis.call('HDEL', KEYS[2], ARGV[2])
return 1
