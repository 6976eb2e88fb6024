/** Tests of api/peer-routes.ts. */
import t from 'tap'
import { createMetrics } from '#kit/http/metrics.ts'
import { Fault } from '#kit/pure/fault.ts'
import { measurePeers, peerRoutes } from '../../api/peer-routes.ts'
import type { FoundPeer } from '../../core/peers/peers.ts'

const self = {
  hostname: 'lobby',
  address: '10.0.0.1',
  port: 80,
  role: 'serial',
  name: 'Lobby',
  version: '1.0.0',
  stream: null,
} as const
const found: FoundPeer = {
  ...{ id: 'board-2._plantroom._tcp.local', host: 'hall.local', address: '10.0.0.2', port: 8080, from: '10.0.0.2' },
  ...{ reach: ['10.0.0.2'], role: 'encoder', name: 'Hall', version: null, path: '/', stream: '239.69.1.2:5004' },
  ...{ state: 'unreachable', heardAt: 2000, answeredAt: 1000 },
}

function routesOf(own: Partial<Record<keyof typeof self, string>>, list: FoundPeer[]) {
  const recorded: unknown[][] = []
  const [listing, dismissing] = peerRoutes({
    self: () => ({ ...self, ...own }) as typeof self,
    table: {
      list: () => list,
      dismiss(id) {
        if (id !== found.id) throw new Fault('unknown_peer', `no board ${id}`)
        return found
      },
    },
    recorder: { changed: async (_asker, ...said) => void recorded.push(said) },
  })
  return { listing, dismissing, recorded }
}

function answer(own: Partial<Record<keyof typeof self, string>> = {}, list: FoundPeer[] = [found]): unknown {
  return routesOf(own, list).listing?.handle({} as never)
}

t.test('B.peers this board is first, then every other board found', async (t) => {
  t.same(answer(), [
    {
      ...{ hostname: 'lobby', IP: '10.0.0.1', ip: '10.0.0.1', role: 'serial', name: 'Lobby', stream: null, port: 80 },
      ...{ url: 'http://10.0.0.1', path: '/', version: '1.0.0' },
      ...{ id: null, self: true, state: 'here', last_heard_at: null, last_answer_at: null },
    },
    {
      ...{ hostname: 'hall', IP: '10.0.0.2', ip: '10.0.0.2', role: 'encoder', name: 'Hall', port: 8080 },
      ...{ stream: '239.69.1.2:5004', url: 'http://10.0.0.2:8080', path: '/', version: null },
      ...{ id: found.id, self: false, state: 'unreachable', last_heard_at: 2000, last_answer_at: 1000 },
    },
  ])
})

t.test('B.peers this board names the stream that it sends, as for every other board', async (t) => {
  t.match(answer({ role: 'encoder', stream: '239.69.1.9:5004' }, []), [{ self: true, stream: '239.69.1.9:5004' }])
})

t.test('a board without an address is listed by name, one with only IPv6 in brackets', async (t) => {
  t.match(answer({ address: '' }, []), [{ IP: '', url: 'http://lobby.local' }])
  t.match(answer({}, [{ ...found, host: '', address: 'fd00::2' }]), [
    {},
    { hostname: '', url: 'http://[fd00::2]:8080' },
  ])
})

t.test('a board dismissed by its id is removed, and the journal says by whom', async (t) => {
  const { dismissing, recorded } = routesOf({}, [found])
  t.same(await dismissing?.handle({ body: { id: found.id } } as never), { dismissed: found.id })
  t.same(recorded, [['board dismissed', 'Hall', { address: '10.0.0.2', last_answer_at: 1000 }]])
  await t.rejects(Promise.resolve(dismissing?.handle({ body: { id: 'x' } } as never)), { code: 'unknown_peer' })
  t.equal(recorded.length, 1)
})

t.test('found boards and those left out are counted in metrics', async (t) => {
  const metrics = createMetrics({ process: false })
  const counts = { states: { new: 1, awaited: 0, alive: 2, unreachable: 3, absent: 7 }, refused: 4, unanswered: 5 }
  const mdns = { refused: { malformed: 6, stranger: 7, flood: 8 }, broken: 9, links: 10 }
  measurePeers(
    metrics,
    () => counts,
    () => mdns,
  )
  const text = await metrics.text()
  for (const line of [
    'plantroom_peers{state="alive"} 2',
    'plantroom_peers{state="absent"} 7',
    'plantroom_peers_refused_total 4',
    'plantroom_peer_polls_unanswered_total 5',
    'plantroom_mdns_refused_total{why="flood"} 8',
    'plantroom_mdns_broken_total 9',
    'plantroom_mdns_links 10',
  ])
    t.ok(text.includes(`${line}\n`), line)
})
