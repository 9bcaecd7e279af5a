-- Delete a tenant; remember its incarnations for a while, so that workers do not take this for data loss.
-- KEYS: meta, changes, pending, then all other keys
-- ARGV: tenant, milliseconds to remember, the only incarnation to delete ('' for any)
-- Returns the incarnation, or nil if there was none to delete.
local meta = redis.call('HMGET', KEYS[1], 'born', 'was')
if not meta[1] or (ARGV[3] ~= '' and ARGV[3] ~= meta[1]) then return false end
for _, block in ipairs(redis.call('LRANGE', KEYS[3], 0, -1)) do
  redis.call('UNLINK', KEYS[3] .. ':' .. string.match(block, '^%S+'))
end
redis.call('DEL', KEYS[1])
for i = 3, #KEYS do redis.call('UNLINK', KEYS[i]) end
redis.call('HSET', KEYS[1], 'was', string.sub(meta[1] .. ' ' .. (meta[2] or ''), 1, 500))
redis.call('PEXPIRE', KEYS[1], ARGV[2])
local change = {'XADD', KEYS[2], 'MAXLEN', '~', 1000, '*', 't', ARGV[1], 'v', '-1'}
local announced = redis.pcall(unpack(change))
if type(announced) == 'table' and announced.err then -- the feed is damaged; it is only a hint, the tenant is changed
  redis.pcall('DEL', KEYS[2])
  redis.pcall(unpack(change))
end
return meta[1]
