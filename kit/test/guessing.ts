/**
 * Attacks on the passwords of a real daemon: who guesses, from which addresses, and whether its owner can sign in
 * meanwhile.
 */
import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import type { Test } from 'tap'

/** How to sign in to one daemon. */
export interface SignInWay {
  url: string
  /** The request that presents a password. */
  shown(password: string): { method: string; path: string; headers: Record<string, string>; body?: string }
  /** Whether an answer says that the password was right. */
  isIn(status: number, body: string): boolean
  /** The correct password. */
  password: string
}

/** Loopback addresses that no other test uses. */
const GUESSER = '127.66.0.1'
const HOME = '127.77.0.1'

/** Reached only by failures. */
const LIMIT_MS = 60_000
const LIMIT = { timeout: 2 * LIMIT_MS }

let count = 0
const wrong = () => `guess ${count++}`

async function tryOnce(way: SignInWay, password: string, localAddress: string, agent?: Agent): Promise<boolean> {
  const { body = '', headers, method, path } = way.shown(password)
  const signal = AbortSignal.timeout(LIMIT_MS)
  const options = { method, localAddress, agent, signal, headers: { ...headers, 'content-length': body.length } }
  const asked = request(way.url + path, options).end(body)
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  return way.isIn(answer.statusCode ?? 0, await text(answer))
}

/** Clients, one per address given, that guess as fast as they are answered, each on its own connection. */
function guessers(way: SignInWay, addresses: readonly string[]) {
  const agents: Agent[] = []
  let isOver = false
  async function guess(address: string): Promise<void> {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    agents.push(agent)
    while (!isOver)
      await tryOnce(way, wrong(), address, agent).catch(() => new Promise((resolve) => setTimeout(resolve, 20)))
  }
  const all = addresses.map(guess)
  return async () => {
    isOver = true
    for (const agent of agents) agent.destroy()
    await Promise.all(all)
  }
}

/** A client that keeps sending guesses and hangs up unless the answer comes at once. */
function impatient(way: SignInWay, address: string) {
  let isOver = false
  async function guess(): Promise<void> {
    while (!isOver) {
      const { body = '', headers, method, path } = way.shown(wrong())
      const asked = request(way.url + path, { method, localAddress: address, headers, agent: false }).end(body)
      asked.on('error', () => {}).on('response', (answer) => answer.resume())
      await new Promise((resolve) => setTimeout(resolve, 10))
      asked.destroy()
    }
  }
  const all = [guess(), guess()]
  return async () => {
    isOver = true
    await Promise.all(all)
  }
}

/** Uses up the free tries of an address. */
async function warmUp(way: SignInWay, address: string): Promise<void> {
  await Promise.all(Array.from({ length: 10 }, () => tryOnce(way, wrong(), address)))
}

async function times(many: number, run: () => Promise<boolean>): Promise<boolean[]> {
  const ends: boolean[] = []
  for (let i = 0; i < many; i++) ends.push(await run())
  return ends
}

/**
 * Runs the attacks one after another.
 * @param restart restarts the daemon with its state. @returns its address then
 */
export async function guessAt(t: Test, way: SignInWay, restart: () => Promise<string>): Promise<void> {
  const enter = (address: string) => tryOnce(way, way.password, address)
  const always = (many: number) => new Array(many).fill(true)

  await t.test('one guesser at full speed keeps nobody out elsewhere', LIMIT, async (t) => {
    const ends = [guessers(way, new Array(4).fill(GUESSER)), impatient(way, GUESSER)]
    await warmUp(way, GUESSER)
    t.same(await times(2, () => enter(HOME)), always(2), 'as a stranger, and where he was before')
    t.ok(await enter('127.88.0.1'), 'nor from where nobody was before')
    for (const end of ends) await end()
  })

  await t.test(
    'twelve guessers at the owner’s own address do not keep him out, nor after a restart',
    LIMIT,
    async (t) => {
      const end = guessers(way, new Array(12).fill(HOME))
      await warmUp(way, HOME)
      t.same(await times(2, () => enter(HOME)), always(2))
      await end()
      way.url = await restart()
      const endAgain = guessers(way, new Array(12).fill(HOME))
      t.ok(await enter(HOME))
      await endAgain()
    },
  )

  await t.test('two hundred addresses with guesses in the queue do not keep the owner waiting', LIMIT, async (t) => {
    const addresses = Array.from({ length: 200 }, (_, i) => `127.99.${Math.trunc(i / 50)}.${(i % 50) + 1}`)
    const end = guessers(way, addresses)
    t.ok(await enter(HOME))
    t.ok(await enter('127.88.0.2'), 'nor from where nobody was before')
    await end()
  })
}
