-- Delete a tenant; remember its incarnations for a while, so that workers do not take this for data loss. Its log and its
-- snapshots can be kept aside for some time, to be restored.
-- KEYS: meta, changes, pending, log, headers, chunks, the hash of deleted incarnations, then all other keys
-- ARGV: tenant, milliseconds to remember, the only incarnation to delete ('' for any), milliseconds to keep what can be
--       restored (0: nothing, also of earlier incarnations), milliseconds since 1970
-- Returns the incarnation, '' if only earlier ones were dropped, or nil if there was nothing to delete.
local tenant, only, keep, now = ARGV[1], ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local PARTS = {'log', 'headers', 'chunks'}
local dropped = 0
if keep == 0 and only == '' then
  for _, incarnation in ipairs(redis.call('HKEYS', KEYS[7])) do
    for _, part in ipairs(PARTS) do dropped = dropped + redis.call('UNLINK', KEYS[7] .. ':' .. incarnation .. ':' .. part) end
  end
  dropped = dropped + redis.call('DEL', KEYS[7])
end
local meta = redis.call('HMGET', KEYS[1], 'born', 'was', 'version', 'chain')
if not meta[1] or (only ~= '' and only ~= meta[1]) then return dropped > 0 and '' or false end
for _, block in ipairs(redis.call('LRANGE', KEYS[3], 0, -1)) do
  local key = KEYS[3] .. ':' .. string.match(block, '^%S+')
  redis.call('UNLINK', key, key .. ':inputs')
end
if keep > 0 then
  for i, part in ipairs(PARTS) do
    if redis.call('EXISTS', KEYS[3 + i]) == 1 then
      local aside = KEYS[7] .. ':' .. meta[1] .. ':' .. part
      redis.call('RENAME', KEYS[3 + i], aside)
      redis.call('PEXPIRE', aside, keep)
    end
  end
  local until_time = string.format('%.0f %.0f', now, now + keep)
  redis.call('HSET', KEYS[7], meta[1], (meta[3] or '0') .. ' ' .. (meta[4] or '') .. ' ' .. until_time)
  redis.call('PEXPIRE', KEYS[7], keep)
end
pcall(review_queue(string.sub(KEYS[4], 1, -5)).clear)
redis.call('DEL', KEYS[1])
for i = 3, #KEYS do
  if i ~= 7 then redis.call('UNLINK', KEYS[i]) end
end
redis.call('HSET', KEYS[1], 'was', string.sub(meta[1] .. ' ' .. (meta[2] or ''), 1, 500))
redis.call('PEXPIRE', KEYS[1], ARGV[2])
local change = {'XADD', KEYS[2], 'MAXLEN', '~', 1000, '*', 't', tenant, 'v', '-1'}
local announced = redis.pcall(unpack(change))
if type(announced) == 'table' and announced.err then -- the feed is damaged; it is only a hint, the tenant is changed
  redis.pcall('DEL', KEYS[2])
  redis.pcall(unpack(change))
end
return meta[1]
