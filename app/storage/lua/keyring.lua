-- Change API keys together, and increment their version so that workers read them again.
-- KEYS: the hash of all API keys; its field `version` is their version
-- ARGV: pairs of an id and its record; an empty record deletes the key
for i = 1, #ARGV, 2 do
  if ARGV[i + 1] == '' then
    redis.call('HDEL', KEYS[1], ARGV[i])
  else
    redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
  end
end
return redis.call('HINCRBY', KEYS[1], 'version', 1)
