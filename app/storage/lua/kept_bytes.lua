-- Return the bytes of all kept predictions of a shard; forget tenants whose predictions have expired.
-- KEYS: the shard's hash of kept bytes by tenant
-- ARGV: what stands before and after the name of a tenant in the key of its list of blocks
local total, found = 0, redis.call('HGETALL', KEYS[1])
for i = 1, #found, 2 do
  if redis.call('EXISTS', ARGV[1] .. found[i] .. ARGV[2]) == 1 then
    total = total + tonumber(found[i + 1])
  else
    redis.call('HDEL', KEYS[1], found[i])
  end
end
return total
