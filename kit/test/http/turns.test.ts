import { EventEmitter } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { createRequestTurns } from '../../http/admission.ts'

/** A server's listener behind turns, with rounds of the event loop that the test steps through. */
function stage({ pipelined_max = 64, costMs = 1, turn_rest_ms = 0 } = {}) {
  const clock = fakeClock()
  const rounds: (() => void)[] = []
  const seen: string[] = []
  const answers: EventEmitter[] = []
  const turns = createRequestTurns({
    config: { turn_ms: 2, turn_rest_ms, pipelined_max, header_bytes: 4096 },
    shareOf: (address) => (address === 'trusted' ? undefined : address),
    clock,
    onceAround: (run) => void rounds.push(run),
  })
  const listener = turns.inTurn((request) => {
    seen.push(String(request.url))
    // As a route does its work: not at once, but in promises that follow.
    void Promise.resolve()
      .then(() => {})
      .then(() => clock.advance(costMs))
  })
  const connect = (remoteAddress: string) => {
    const socket = { remoteAddress, destroyed: false, destroy: () => Object.assign(socket, { destroyed: true }) }
    return socket
  }
  return {
    clock,
    seen,
    rounds,
    connect,
    /** @returns what closes its answer */
    ask(socket: ReturnType<typeof connect>, url: string, rawHeaders: string[] = []) {
      const response = new EventEmitter()
      answers.push(response)
      listener({ socket, url, rawHeaders } as unknown as IncomingMessage, response as unknown as ServerResponse)
      return () => void response.emit('close')
    },
    /** One round of the event loop. */
    async round() {
      for (const run of rounds.splice(0)) run()
      await new Promise((resolve) => setImmediate(resolve))
    },
  }
}

const settled = () => new Promise((resolve) => setImmediate(resolve))

t.test('requests of one connection are handled one after another', async (t) => {
  const { ask, connect, seen } = stage()
  const socket = connect('a')
  const first = ask(socket, '1')
  const second = ask(socket, '2')
  ask(socket, '3')
  t.same(seen, ['1'])
  first()
  second()
  t.same(seen, ['1', '2', '3'])
})

t.test(
  'a connection with more than http.pipelined_max waiting is closed, and none of its requests is handled any more',
  async (t) => {
    const { ask, connect, seen } = stage({ pipelined_max: 2 })
    const socket = connect('a')
    const first = ask(socket, '1')
    ask(socket, '2')
    ask(socket, '3')
    t.notOk(socket.destroyed)
    ask(socket, '4')
    t.ok(socket.destroyed)
    first()
    t.same(seen, ['1'])
  },
)

t.test('a connection on which heads of four times http.header_bytes wait is closed by one more', async (t) => {
  const { ask, connect, seen } = stage()
  const socket = connect('a')
  // Each name and each value counts 48 beside its characters.
  const long = ['cookie', 'x'.repeat(4089 - 2 * 48)]
  const first = ask(socket, '1', long)
  for (const url of ['2', '3', '4', '5']) ask(socket, url, long)
  t.notOk(socket.destroyed, 'filled to the bound')
  first()
  ask(socket, '6', long)
  t.notOk(socket.destroyed, 'one of them no longer waits')
  ask(socket, '7')
  t.ok(socket.destroyed)
  t.same(seen, ['1', '2'])
  const other = connect('b')
  ask(other, '1')
  ask(other, '2', new Array(2 * 150).fill('x'))
  t.notOk(other.destroyed)
  ask(other, '3', new Array(2 * 20).fill('x'))
  t.ok(other.destroyed, 'however short their fields are')
})

t.test('an address has http.turn_ms of a round, then others with requests come first', async (t) => {
  const { ask, connect, seen, round } = stage()
  for (let at = 1; at <= 6; at++) {
    ask(connect('greedy'), `greedy ${at}`)
    await settled()
  }
  t.same(seen, ['greedy 1', 'greedy 2'], '2 ms are used up')
  ask(connect('operator'), 'operator')
  t.equal(seen.at(-1), 'operator', 'at once')
  await settled()
  await round()
  t.same(seen.slice(3), ['greedy 3', 'greedy 4'], 'as long again, including promises of the routes')
  await round()
  t.same(seen.slice(5), ['greedy 5', 'greedy 6'])
})

t.test('a single request that takes longer than a turn is one turn', async (t) => {
  const { ask, connect, seen, round } = stage({ costMs: 50 })
  for (let at = 1; at <= 3; at++) {
    ask(connect('greedy'), `greedy ${at}`)
    await settled()
  }
  t.same(seen, ['greedy 1'])
  await round()
  t.same(seen, ['greedy 1', 'greedy 2'])
  await round()
  t.equal(seen.length, 3)
})

t.test('addresses that all have requests waiting take turns', async (t) => {
  const { ask, connect, seen, round } = stage({ costMs: 2 })
  for (let at = 1; at <= 3; at++)
    for (const name of ['a', 'b', 'c']) {
      ask(connect(name), `${name}${at}`)
      await settled()
    }
  t.same(seen, ['a1', 'b1', 'c1'])
  await round()
  t.same(seen.slice(3).toSorted(), ['a2', 'b2', 'c2'])
})

t.test('an address of connections.trusted is not held back', async (t) => {
  const { ask, connect, seen } = stage({ costMs: 50 })
  for (let at = 0; at < 4; at++) {
    ask(connect('trusted'), `${at}`)
    await settled()
  }
  t.equal(seen.length, 4)
})

t.test('a request whose client left before its turn is skipped, and those behind it are handled', async (t) => {
  const { ask, connect, seen, round } = stage({ costMs: 2 })
  ask(connect('a'), '1')
  await settled()
  const gone = connect('a')
  ask(gone, '2')
  ask(connect('a'), '3')
  gone.destroy()
  await round()
  await round()
  t.same(seen, ['1', '3'])
})

t.test(
  'an address that uses more than its turn rests for http.turn_rest_ms while others ask, and these do not wait',
  async (t) => {
    const { ask, clock, connect, seen, round } = stage({ turn_rest_ms: 6 })
    ask(connect('operator'), 'operator 1')
    await settled()
    for (let at = 1; at <= 6; at++) {
      ask(connect('greedy'), `greedy ${at}`)
      await settled()
    }
    t.same(seen, ['operator 1', 'greedy 1', 'greedy 2'])
    for (let at = 2; at <= 5; at++) {
      await round()
      ask(connect('operator'), `operator ${at}`)
      t.equal(seen.at(-1), `operator ${at}`, 'at once, in whichever round')
      await settled()
    }
    t.same(
      seen.filter((url) => url.startsWith('greedy')),
      ['greedy 1', 'greedy 2'],
    )
    for (let ms = 0; ms < 6; ms++) {
      clock.advance(1)
      await settled()
      await round()
    }
    t.same(seen.slice(-2), ['greedy 3', 'greedy 4'], 'its next turn, after which it rests again')
  },
)

t.test('an address that asks alone does not rest, nor once others have been silent for a second', async (t) => {
  const { ask, clock, connect, seen, round } = stage({ turn_rest_ms: 6 })
  for (let at = 1; at <= 4; at++) {
    ask(connect('greedy'), `${at}`)
    await settled()
  }
  await round()
  t.equal(seen.length, 4, 'two in each round')
  ask(connect('operator'), 'operator')
  await settled()
  await round()
  clock.advance(1000)
  for (let at = 5; at <= 8; at++) {
    ask(connect('greedy'), `${at}`)
    await settled()
  }
  clock.advance(1000)
  await settled()
  await round()
  t.equal(seen.length, 9)
})

t.test('an unused round is not followed by another', async (t) => {
  const { ask, connect, rounds, round } = stage()
  ask(connect('a'), '1')
  t.equal(rounds.length, 1)
  await round()
  t.equal(rounds.length, 0)
})
