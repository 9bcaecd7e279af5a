-- Append events to a tenant's log, except those whose feedback_id was used before, and second labels of a prediction.
-- KEYS: meta, log, changes, then for each event the record of its feedback_id (meta if it has none; the headers of the
--       snapshots for an event that takes back labels)
-- ARGV: tenant, incarnation, the version that the caller has applied, the chain it expects or '', milliseconds to keep
--       records, then for each event: fingerprint ('' without feedback_id; 'retracts', the first version that it changes,
--       the version up to which it knows the log or '-', 'asked' unless a second label does it), payload, '' or the
--       prediction that it labels: its block, its place there, and the version of the label that this one replaces (''
--       for none, 'any' to append it in any case); blocks and places of predictions whose labels a retraction relies on
-- Returns {'unreachable'} if no state is left from before the labels that an event takes back
--       | {'changed'} if a label that is to be replaced is not that of its prediction, or its feedback_id was used, or a
--          request took labels back behind what a retraction knows, or a prediction that it relies on got a label
--       | {'deleted'} | {'gone'} | {'other'} | {'behind', version, chain}
--       | {'appended', version and chain before, then for each event: its chain, or of the earlier event
--          {'version fingerprint', its outcome or nil: see outcomes.lua}, or the version of the label of its prediction}
local RETRACTS = string.byte('r')
local tenant, mine, applied, expected, keep = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4], ARGV[5]
local meta = redis.call('HMGET', KEYS[1], 'born', 'version', 'chain', 'was')
local born, chain = meta[1], meta[3]
if born ~= mine then
  if meta[4] and string.find(meta[4], mine, 1, true) then return {'deleted'} end
  return {born and 'other' or 'gone'}
end
local version = tonumber(meta[2])
if expected ~= '' and expected ~= chain then return {'other'} end
if expected == '' and version < applied then return {'behind', version, chain} end

local function drop_snapshots(headers, first)
  -- Those from this version on contain labels that are taken back. One before it must be left, or the whole log.
  local behind, reaches = {}, false
  for _, name in ipairs(redis.call('HKEYS', headers)) do
    local number = tonumber(name)
    if number and number >= first then behind[#behind + 1] = name end
    reaches = reaches or (number ~= nil and number < first)
  end
  if not reaches then
    local oldest = redis.call('XRANGE', KEYS[2], '-', '+', 'COUNT', 1)[1]
    if not oldest or oldest[1] ~= '0-1' then return false end
  end
  for _, name in ipairs(behind) do redis.call('HDEL', headers, name) end
  return true
end

local function place_of(prediction)
  -- The hash of the labels of a block of predictions, the field of this one, and what its label may be.
  local block, place, replaced = string.match(prediction, '^(%S+) (%S+) (%S*)$')
  local labels = string.format('%s:labels:%s:%s', string.sub(KEYS[2], 1, -5), string.sub(mine, 1, 8), block)
  return labels, place, replaced, block
end

local function label_of(labels, place)
  local number = redis.pcall('HGET', labels, place)
  return type(number) == 'string' and tonumber(number)
end

local function is_outdated(seen, predictions)
  if (tonumber(redis.call('HGET', KEYS[1], 'asked') or '') or 0) > seen then return true end
  for block, place in string.gmatch(predictions, '(%S+) (%S+)') do
    if (label_of(place_of(block .. ' ' .. place .. ' ')) or 0) > seen then return true end
  end
end

for i = 4, #KEYS do
  local mark, prediction = ARGV[3 * i - 6], ARGV[3 * i - 4]
  if string.byte(mark) == RETRACTS then
    local seen = tonumber(string.match(mark, '^%S+ %S+ (%d+)'))
    if seen and is_outdated(seen, prediction) then return {'changed'} end
  elseif string.match(prediction, '%d$') then
    local labels, place, replaced = place_of(prediction)
    local is_used = ARGV[3 * i - 6] ~= '' and redis.call('EXISTS', KEYS[i]) == 1
    if is_used or label_of(labels, place) ~= tonumber(replaced) then return {'changed'} end
  end
end
for i = 4, #KEYS do
  local mark = ARGV[3 * i - 6]
  if string.byte(mark) == RETRACTS and not drop_snapshots(KEYS[i], tonumber(string.match(mark, '%d+'))) then
    return {'unreachable'}
  end
end
local answers = {'appended', version, chain}
local before = version
for i = 4, #KEYS do
  local fingerprint, payload, prediction = ARGV[3 * i - 6], ARGV[3 * i - 5], ARGV[3 * i - 4]
  -- A damaged record must not end the script between two events: nothing takes back what it has written. So it counts
  -- as none, and is replaced.
  local retracts = string.byte(fingerprint) == RETRACTS
  local used = fingerprint ~= '' and not retracts and redis.pcall('GET', KEYS[i])
  local number = type(used) == 'string' and tonumber(string.match(used, '^(%d+) '))
  if number then
    local block = string.format(':outcomes:%s:%.0f', string.sub(mine, 1, 8), math.floor(number / 128))
    local outcome = redis.pcall('HGET', string.sub(KEYS[2], 1, -5) .. block, string.format('%.0f', number % 128))
    answers[i] = {used, type(outcome) == 'string' and outcome}
  end
  local labels, place, replaced, block
  if not number and not retracts and prediction ~= '' then
    labels, place, replaced, block = place_of(prediction)
    answers[i] = replaced == '' and label_of(labels, place) or nil
  end
  if not answers[i] then
    version = version + 1
    chain = redis.sha1hex(chain .. payload)
    redis.call('XADD', KEYS[2], '0-' .. string.format('%.0f', version), 'p', payload, 'c', chain)
    if retracts then
      redis.call('HSET', KEYS[1], 'retracted', string.format('%.0f', version))
      if string.match(fingerprint, 'asked$') then
        redis.call('HSET', KEYS[1], 'asked', string.format('%.0f', version))
      end
    elseif fingerprint ~= '' then
      redis.call('SET', KEYS[i], string.format('%.0f ', version) .. fingerprint, 'PX', keep)
    end
    if labels then
      redis.pcall('HSET', labels, place, string.format('%.0f', version))
      local left = redis.call('PTTL', string.sub(KEYS[2], 1, -5) .. ':pending:' .. block)
      redis.call('PEXPIRE', labels, math.max(tonumber(keep), left))
    end
    answers[i] = chain
  end
end
if version > before then
  redis.call('HSET', KEYS[1], 'version', string.format('%.0f', version), 'chain', chain)
  local change = {'XADD', KEYS[3], 'MAXLEN', '~', 1000, '*', 't', tenant, 'v', string.format('%.0f', version)}
  local announced = redis.pcall(unpack(change))
  if type(announced) == 'table' and announced.err then -- the feed is damaged; it is only a hint, the log is written
    redis.pcall('DEL', KEYS[3])
    redis.pcall(unpack(change))
  end
end
return answers
