-- Change some keys of the service together, and let everyone see that something has changed.
-- KEYS: the keys, by id; their version is a field beside them
-- ARGV: an id and its record, again and again; an empty record takes the key away
for i = 1, #ARGV, 2 do
  if ARGV[i + 1] == '' then
    redis.call('HDEL', KEYS[1], ARGV[i])
  else
    redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
  end
end
return redis.call('HINCRBY', KEYS[1], 'version', 1)
