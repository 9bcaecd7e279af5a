-- Delete a tenant; remember its incarnations for a while, so that workers do not take this for data loss.
-- KEYS: meta, changes, pending, then all other keys
-- ARGV: tenant, milliseconds to remember
-- Returns 1, or 0 if there was none.
local meta = redis.call('HMGET', KEYS[1], 'born', 'was')
if not meta[1] then return 0 end
for _, block in ipairs(redis.call('LRANGE', KEYS[3], 0, -1)) do
  redis.call('UNLINK', KEYS[3] .. ':' .. string.match(block, '^%S+'))
end
redis.call('DEL', KEYS[1])
for i = 3, #KEYS do redis.call('UNLINK', KEYS[i]) end
redis.call('HSET', KEYS[1], 'was', string.sub(meta[1] .. ' ' .. (meta[2] or ''), 1, 500))
redis.call('PEXPIRE', KEYS[1], ARGV[2])
redis.call('XADD', KEYS[2], 'MAXLEN', '~', 1000, '*', 't', ARGV[1], 'v', '-1')
return 1
