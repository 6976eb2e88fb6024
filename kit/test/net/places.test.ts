import t from 'tap'
import { createPlaces, createPlacesWithin, type Holder, type PlaceLimits, type Use } from '#kit/net/places.ts'

/** The holders of places, by name: `a1` is of address `a`. Each came a millisecond after the previous one. */
function placesHere(limits: Partial<PlaceLimits> = {}) {
  const places = createPlaces({ most: 4, mostPerAddress: 100, shareOf: (address) => address, ...limits })
  const ended: string[] = []
  const holders = new Map<string, Holder>()
  let nowMs = 0
  function come(name: string, use: Use = 'lasting'): boolean {
    const sinceMs = nowMs++
    const holder = { use: () => ({ use, sinceMs }), giveWay: () => void ended.push(name) }
    holders.set(name, holder)
    return places.take(name.slice(0, 1), holder)
  }
  const leave = (name: string) => places.leave(holders.get(name) as Holder)
  return { places, come, ended, leave }
}

t.test('as many come in as there are places, and one that left makes room once', async (t) => {
  const { places, come, ended, leave } = placesHere({ most: 2 })
  t.same([come('a1'), come('b1'), come('c1')], [true, true, false])
  leave('c1')
  t.equal(places.size, 2)
  leave('a1')
  leave('a1')
  t.same([come('d1'), come('e1')], [true, false])
  t.same(ended, [])
  t.same(places.counts(), { refused: 2, evicted: 0 })
})

t.test('the address with most loses its own to others, and cannot take places from them', async (t) => {
  const { places, come, ended } = placesHere()
  for (const name of ['a1', 'a2', 'a3', 'b1']) t.ok(come(name))
  t.ok(come('c1'))
  t.same(ended, ['a1'], 'the oldest of the greediest')
  t.equal(places.size, 4)
  t.notOk(come('a4'), 'the greediest itself')
  t.notOk(come('b2'), 'it would have as many as would be left to the other')
  t.notOk(come('d1') && come('e1'), 'each has one: nobody has more than the newcomer would')
  t.same(ended, ['a1', 'a2'])
  t.same(places.counts(), { refused: 3, evicted: 2 })
})

t.test('an address first loses what is worth least: opening, idle, busy, and then lasting', async (t) => {
  const { come, ended } = placesHere({ most: 8 })
  const uses: Use[] = ['lasting', 'busy', 'idle', 'idle', 'opening', 'opening', 'busy']
  for (const [at, use] of uses.entries()) come(`a${at}`, use)
  come('b1')
  for (const name of ['c1', 'd1', 'e1', 'f1', 'g1', 'h1']) t.ok(come(name))
  t.same(ended, ['a4', 'a5', 'a2', 'a3', 'a1', 'a6'])
})

t.test('if no address has more than another, one that is opening or idle makes room, and otherwise none', async (t) => {
  const { come, ended } = placesHere({ most: 3 })
  for (const [name, use] of [
    ['a1', 'busy'],
    ['b1', 'idle'],
    ['c1', 'opening'],
  ] as const)
    come(name, use)
  t.ok(come('d1', 'busy'))
  t.ok(come('e1', 'busy'))
  t.notOk(come('f1', 'busy'))
  t.same(ended, ['c1', 'b1'])
})

t.test('an address at its share makes room only among its own, if one of them is opening or idle', async (t) => {
  const { places, come, ended } = placesHere({ most: 100, mostPerAddress: 2 })
  t.same([come('a1', 'busy'), come('a2', 'opening'), come('a3', 'busy'), come('a4')], [true, true, true, false])
  t.same(ended, ['a2'])
  t.ok(come('b1'))
  t.equal(places.hasRoom('a'), false)
  t.equal(places.hasRoom('b'), true)
  t.same(places.counts(), { refused: 1, evicted: 1 }, 'a mere query takes no place')
})

t.test('a trusted address can have every place, and loses none in use to others', async (t) => {
  const shareOf = (address: string) => (address === 'a' ? undefined : address)
  const { come, ended } = placesHere({ mostPerAddress: 2, shareOf })
  for (const name of ['a1', 'a2', 'a3', 'a4']) t.ok(come(name))
  t.notOk(come('b1'))
  t.notOk(come('a5'))
  t.same(ended, [])
})

t.test('a trusted address comes in at the cost of one that has several', async (t) => {
  const shareOf = (address: string) => (address === 'a' ? undefined : address)
  const { come, ended } = placesHere({ shareOf })
  for (const name of ['a1', 'a2', 'b1', 'b2']) come(name)
  t.ok(come('a3'))
  t.same(ended, ['b1'])
})

t.test('servers that share places: each has its own limit, and whoever has most of all makes room', async (t) => {
  const ended: string[] = []
  const all = createPlaces({ most: 4, mostPerAddress: 4, shareOf: (address) => address })
  const serverOf = (most: number) => createPlacesWithin(createPlaces({ most, mostPerAddress: most, shareOf }), all)
  const shareOf = (address: string) => address
  const [one, other] = [serverOf(3), serverOf(3)]
  const holders = new Map<string, Holder>()
  function come(server: typeof one, name: string): boolean {
    const holder: Holder = { use: () => ({ use: 'lasting', sinceMs: 0 }), giveWay: () => void ended.push(name) }
    holders.set(name, holder)
    return server.take(name.slice(0, 1), holder)
  }
  t.same([come(one, 'a1'), come(one, 'a2'), come(one, 'a3'), come(other, 'b1')], [true, true, true, true])
  t.equal(all.size, 4, 'filled to the bound')
  t.ok(come(other, 'b2'))
  t.same(ended, ['a1'], 'a place of another server was given')
  t.same([one.size, other.size, all.size], [2, 2, 4])
  t.same(
    [one.counts(), other.counts()],
    [
      { refused: 0, evicted: 1 },
      { refused: 0, evicted: 0 },
    ],
  )
  t.notOk(come(other, 'b3'), 'nobody has more than the newcomer would')
  other.leave(holders.get('b1') as Holder)
  other.leave(holders.get('b1') as Holder)
  t.equal(all.size, 3)
  t.ok(come(other, 'b4'))
  t.notOk(come(one, 'a4'), 'all are taken, and it has as many as the other')
  t.same(one.counts(), { refused: 1, evicted: 1 })
})

t.test('a full server is full even if there are common places left, and its own clients make room', async (t) => {
  const ended: string[] = []
  const shareOf = (address: string) => address
  const all = createPlaces({ most: 8, mostPerAddress: 8, shareOf })
  const server = createPlacesWithin(createPlaces({ most: 3, mostPerAddress: 3, shareOf }), all)
  const holder = (name: string): Holder => ({
    use: () => ({ use: 'lasting', sinceMs: 0 }),
    giveWay: () => void ended.push(name),
  })
  for (const name of ['a1', 'a2', 'a3']) t.ok(server.take('a', holder(name)))
  t.notOk(server.hasRoom('a'))
  t.notOk(server.take('a', holder('a4')))
  t.ok(server.take('b', holder('b1')))
  t.same(ended, ['a1'])
  t.same([server.size, all.size], [3, 3])
})
