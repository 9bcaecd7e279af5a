-- The review queue of a tenant: the beginning of every script that uses it. Each item has
--   items    its facts by prediction_id: 'incarnation priority time reason ...', see app/storage/review/queue.py
--   times    when it was added, by the store's clock
--   waiting  its place, unless it is leased: the priority, then the time of its prediction, which begins the member
--   leases   when its lease ends, and in `holders` 'lease person holder'; `held` counts the leases of each person
--   passes   who has passed it: 's' (skipped) or 'u' (unsure), behind each person
-- Those waiting items that a person has passed are also in `by:LIFE:PERSON`, in the same order: so a search by rank finds
-- the first one that the person has not passed. An item leaves the queue with the block of its prediction, or with a label.
-- All keys expire together, but if the store's clock jumps, some may outlast the others. A life begins with the first item
-- of an empty queue, which it is named after: what has outlasted an earlier life is never read again.
local function review_queue(prefix)
  local call, queue, base = redis.call, {}, prefix .. ':review:'
  local items, times, waiting = base .. 'items', base .. 'times', base .. 'waiting'
  local leases, holders, held = base .. 'leases', base .. 'holders', base .. 'held'
  local passes, people, counts, life = base .. 'passes', base .. 'people', base .. 'counts', base .. 'life'
  local all = {items, times, waiting, leases, holders, held, passes, people, counts, life}
  local changes = {expired = 0, dropped = 0}
  queue.items, queue.waiting, queue.leases, queue.counts = items, waiting, leases, counts
  queue.passes, queue.times, queue.holders, queue.held, queue.changes = passes, times, holders, held, changes

  local function by(person)
    return base .. 'by:' .. (call('GET', life) or '') .. ':' .. person
  end

  function queue.now()
    local time = call('TIME')
    return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
  end

  function queue.touch(key) -- a key that is made later must not outlive the items
    local left = call('PTTL', items)
    if left > 0 then call('PEXPIRE', key, left) end
  end

  function queue.item(id)
    local facts = call('HGET', items, id)
    if not facts then return nil end
    local born, priority, at, reason = string.match(facts, '^(%S+) (%S+) (%S+) (%S+)')
    return {id = id, facts = facts, born = born, priority = priority, reason = reason, member = at .. id}
  end

  local function each_pass(id, action)
    for person, pass in string.gmatch(call('HGET', passes, id) or '', '(%x+)(%u)') do action(person, pass) end
  end
  queue.each_pass = each_pass

  function queue.enter(item)
    call('ZADD', waiting, item.priority, item.member)
    queue.touch(waiting)
    each_pass(item.id, function(person)
      call('ZADD', by(person), item.priority, item.member)
      queue.touch(by(person))
      call('SADD', people, person)
      queue.touch(people)
    end)
  end

  function queue.leave(item)
    if call('ZREM', waiting, item.member) == 0 then return end
    each_pass(item.id, function(person)
      local key = by(person)
      if call('ZREM', key, item.member) == 1 and call('EXISTS', key) == 0 then call('SREM', people, person) end
    end)
  end

  local function forget(member) -- of an item that is not there
    call('ZREM', waiting, member)
    for _, person in ipairs(call('SMEMBERS', people)) do call('ZREM', by(person), member) end
  end

  function queue.unlease(id)
    local holder = call('HGET', holders, id)
    call('ZREM', leases, id)
    if not holder then return end
    call('HDEL', holders, id)
    local person = string.match(holder, '^%S+ (%S+)')
    if call('HINCRBY', held, person, -1) <= 0 then call('HDEL', held, person) end
  end

  function queue.remove(item)
    queue.leave(item)
    queue.unlease(item.id)
    call('HDEL', items, item.id)
    call('HDEL', passes, item.id)
    call('ZREM', times, item.id)
    call('HINCRBY', counts, item.reason, -1)
    call('HINCRBY', counts, 'bytes', -(#item.id + #item.facts))
  end

  function queue.settle(id)
    local item = queue.item(id)
    if item then queue.remove(item) end
  end

  function queue.is_labelled(id, ...)
    local block, place = string.match(id, '^(%w+%-%w+)%-(%w+%-%w+)$')
    for _, born in ipairs({...}) do
      if call('HEXISTS', string.format('%s:labels:%s:%s', prefix, born, block or ''), place or '') == 1 then
        return true
      end
    end
    return false
  end

  local function is_over(item, born)
    local block = string.match(item.id, '^(%w+%-%w+)%-') or ''
    return call('EXISTS', prefix .. ':pending:' .. block) == 0 or queue.is_labelled(item.id, item.born, born)
  end

  function queue.drop(item)
    queue.remove(item)
    changes.dropped = changes.dropped + 1
  end

  function queue.hold(id, milliseconds, now)
    local ends = string.format('%.0f', now + milliseconds)
    call('ZADD', leases, ends, id)
    call('HSET', counts, 'clock', string.format('%.0f', now))
    for _, key in ipairs({leases, counts}) do queue.touch(key) end
    return ends
  end

  local function follow_clock(now)
    -- After the store's clock was set back, leases would last longer by as much.
    local back = tonumber(call('HGET', counts, 'clock') or '0') - now
    if back <= 1000 then return end
    local held_leases = call('ZRANGE', leases, 0, -1, 'WITHSCORES')
    for i = 1, #held_leases, 2 do
      call('ZADD', leases, string.format('%.0f', tonumber(held_leases[i + 1]) - back), held_leases[i])
    end
    call('HSET', counts, 'clock', string.format('%.0f', now))
  end

  function queue.refresh(now, born)
    follow_clock(now)
    -- Blocks end in the order of the items: the oldest item tells whether there is one to drop.
    for _ = 1, 1000 do
      local oldest = call('ZRANGE', times, 0, 0)[1]
      local item = oldest and queue.item(oldest)
      if oldest and not item then call('ZREM', times, oldest) end
      if not oldest or (item and not is_over(item, born)) then break end
      if item then queue.drop(item) end
    end
    for _, id in ipairs(call('ZRANGEBYSCORE', leases, '-inf', now, 'LIMIT', 0, 1000)) do
      local item = queue.item(id)
      queue.unlease(id)
      if item then
        queue.enter(item)
        changes.expired = changes.expired + 1
      end
    end
  end

  function queue.first(person, born)
    -- The first waiting item that a person has not passed: up to it, items have the same rank in both sets.
    local own, low = by(person), 0
    for _ = 1, 1000 do
      local high = call('EXISTS', own) == 1 and call('ZCARD', waiting) or low
      while low < high do
        local middle = math.floor((low + high) / 2)
        local member = call('ZRANGE', waiting, middle, middle)[1]
        if call('ZRANK', own, member) == middle then low = middle + 1 else high = middle end
      end
      local member = call('ZRANGE', waiting, low, low)[1]
      if not member then return nil end
      local item = queue.item(string.sub(member, 13))
      if item and not is_over(item, born) then return item end
      if item then queue.drop(item) else forget(member) end
    end
    return nil
  end

  function queue.clear()
    for _, person in ipairs(call('SMEMBERS', people)) do call('UNLINK', by(person)) end
    call('UNLINK', unpack(all))
  end

  function queue.add(id, facts, now, keep)
    if call('EXISTS', items) == 0 then
      queue.clear() -- what was left has expired
      call('SET', life, id)
    end
    call('HSET', items, id, facts)
    call('ZADD', times, now, id)
    local item = queue.item(id)
    call('HINCRBY', counts, item.reason, 1)
    call('HINCRBY', counts, 'bytes', #id + #facts)
    for _, key in ipairs(all) do call('PEXPIRE', key, keep) end
    queue.enter(item)
  end

  function queue.limit(most, most_bytes)
    -- The least valuable waiting items go first; those that are leased stay.
    while call('HLEN', items) > most or tonumber(call('HGET', counts, 'bytes') or '0') > most_bytes do
      local last = call('ZRANGE', waiting, -1, -1)[1]
      if not last then return end
      local item = queue.item(string.sub(last, 13))
      if item then queue.drop(item) else forget(last) end
    end
  end

  return queue
end
