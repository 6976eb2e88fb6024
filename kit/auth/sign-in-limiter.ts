/**
 * The rate limiter of sign-ins. Every password is checked, in fair turns, and only wrong ones wait: a caller with the
 * right password is never refused for what others do elsewhere. See docs/decisions/sign-in-and-passwords.md.
 */
import { type Clock, wait } from '../clock.ts'
import { networkOf, wideNetworkOf } from '../net/address.ts'
import { Fault } from '../pure/fault.ts'
import { shortCopy } from '../pure/text.ts'
import type { Homes } from './homes.ts'

/** A caller that tries to sign in, and from where. */
export interface Contender {
  /** The peer's address. */
  address: string
  /** The name tried, normalized, existing or not. */
  account: string
}

/** One password to check. */
export interface PasswordTry extends Contender {
  /** Aborted when the client hangs up. A try that is still queued is then dropped. */
  signal?: AbortSignal | undefined
  /** A cheap check: true if this is the password that was right before. */
  isKnown?(): boolean
  /** The expensive check: an argon2id hash, run when its turn has come. */
  verify(): Promise<boolean>
}

export interface SignInLimiter {
  /**
   * Checks a password in its turn. A wrong one is counted, and resolves when it may be answered.
   * @returns whether it is right; if so, at once
   * @throws Fault `slow_down` if too many tries of its own network wait, `busy` if too many wait in all (both with
   * `details.retryAfterMs`), `client_gone`, and what `verify` throws
   */
  judge(tried: PasswordTry): Promise<boolean>
  /**
   * Call after a complete sign-in: forgets the wrong tries there, and remembers the network as a home of the account.
   */
  succeeded(who: Contender): void
  /** Counts another kind of wrong try, such as a code; resolves when it may be answered. */
  failed(who: Contender): Promise<void>
  /** Hashes for a signed-in user, ahead of strangers and within the same workers. @throws Fault `busy` */
  within<Result>(run: () => Promise<Result>): Promise<Result>
}

/** Limits; see `loginKeys` in kit/config/tables.ts, where each is a setting. */
export interface SignInBounds {
  /** Passwords hashed at once. */
  workers: number
  /** Tries that wait for their turn, in all. */
  queue: number
  /** Tries of one network that wait. */
  queueOfOne: number
  /** Tries of one network being checked, or wrong and not answered yet. */
  places: number
  /** Number of wrong tries from which answers are delayed. */
  freeTries: number
  /** The first delay; doubles with each further wrong try. */
  waitMs: number
  waitMaxMs: number
  /** Time without a wrong try after which they are forgotten. */
  forgetMs: number
  /** Number of networks, of accounts and of pairs whose wrong tries are remembered. */
  table: number
}

export interface SignInLimiterParts {
  clock: Clock
  bounds: SignInBounds
  homes: Homes
}

/**
 * A queue of tries: of a network, or of an account at its home, so that guesses at other accounts there do not block
 * it.
 */
interface Lane {
  key: string
  wide: string
  isHome: boolean
  waiting: Waiter[]
  /** Places taken, by account: tries being checked, or wrong and not answered yet. */
  taken: Map<string, number>
  /** Cheap checks that may still fail, and when that number was last updated. */
  looks: number
  looksAtMs: number
}

interface Waiter {
  lane: Lane
  account: string
  arrival: number
  /** @param suspect 1 if its lane has made too many wrong tries, else 0 */
  begin(suspect: number): void
  refuse(fault: Fault): void
}

/** Every fourth turn goes to the try that has waited longest, so that nobody waits forever. */
const TURN_OF_THE_OLDEST = 4

/** A name may be 64 KiB long; its first characters are enough to count by. */
const NAME_LENGTH = 128

export function createSignInLimiter({ clock, bounds, homes }: SignInLimiterParts): SignInLimiter {
  const wrong = createWrongTries(clock, bounds)
  const lanes = createLanes({ clock, homes, places: bounds.places })
  const turns = createTurns(bounds, (lane) => wrong.guiltOf(lane.key))

  async function hold(who: Contender): Promise<void> {
    const waitMs = wrong.add(keysOf(who))
    // The place stays taken even if the client hangs up: the delay has already told it that the password was wrong.
    if (waitMs > 0) await wait(clock, waitMs)
  }

  /** Runs while a place of the lane is already taken, and frees it at the end. */
  async function inPlace<Result>(lane: Lane, account: string, run: () => Promise<Result>): Promise<Result> {
    try {
      return await run()
    } finally {
      leave(lane, account)
      lanes.drop(lane)
      turns.next()
    }
  }

  return {
    async judge(tried) {
      const who = contenderOf(tried)
      const lane = lanes.of(who)
      if (lane.isHome && tried.isKnown && lanes.mayLook(lane)) {
        if (tried.isKnown()) return true
        lane.looks--
      }
      const look = async () => tried.isKnown?.() === true || (await tried.verify())
      const { account } = who
      let verdict: boolean
      try {
        verdict = await turns.take({ lane, account, signal: tried.signal, run: look })
      } catch (fault) {
        lanes.drop(lane)
        throw fault
      }
      return inPlace(lane, account, async () => {
        if (!verdict) await hold(who)
        return verdict
      })
    },
    succeeded(given) {
      const who = contenderOf(given)
      homes.add(networkOf(who.address), who.account)
      wrong.forget(keysOf(who))
    },
    async failed(given) {
      const who = contenderOf(given)
      const lane = lanes.of(who)
      enter(lane, who.account)
      await inPlace(lane, who.account, () => hold(who))
    },
    within(run) {
      const lane = newLane({ key: 'signed in', wide: 'signed in', isHome: true })
      return turns.take({ lane, account: '', signal: undefined, run })
    },
  }
}

function contenderOf({ address, account }: Contender): Contender {
  return { address, account: shortCopy(account, NAME_LENGTH) }
}

function newLane(by: Pick<Lane, 'key' | 'wide' | 'isHome'>): Lane {
  return { ...by, waiting: [], taken: new Map(), looks: 0, looksAtMs: Number.NEGATIVE_INFINITY }
}

function enter({ taken }: Lane, account: string): void {
  taken.set(account, (taken.get(account) ?? 0) + 1)
}

function leave({ taken }: Lane, account: string): void {
  const left = (taken.get(account) ?? 1) - 1
  if (left > 0) taken.set(account, left)
  else taken.delete(account)
}

function takenOf({ taken }: Lane): number {
  let sum = 0
  for (const count of taken.values()) sum += count
  return sum
}

/** The lanes of current tries, created on demand and dropped when empty. */
function createLanes({ clock, homes, places }: { clock: Clock; homes: Homes; places: number }) {
  const lanes = new Map<string, Lane>()
  // Failed cheap checks allowed in a burst, and refilled per second: enough for a page that sends a password that is no
  // longer right.
  const mostLooks = 4 * places

  function refill(lane: Lane): void {
    const nowMs = clock.monotonicMs()
    lane.looks = Math.min(mostLooks, lane.looks + ((nowMs - lane.looksAtMs) / 1000) * places)
    lane.looksAtMs = nowMs
  }

  return {
    of({ address, account }: Contender): Lane {
      const network = networkOf(address)
      const isHome = homes.has(network, account)
      const key = isHome ? keysOf({ address, account }).pair : network
      const found = lanes.get(key)
      if (found) return found
      const lane = newLane({ key, wide: wideNetworkOf(address), isHome })
      lanes.set(key, lane)
      return lane
    },
    mayLook(lane: Lane): boolean {
      refill(lane)
      return lane.looks >= 1
    },
    /** A home lane is kept until its allowance is full again: otherwise each guess would start with a fresh one. */
    drop(lane: Lane): void {
      if (lane.waiting.length > 0 || lane.taken.size > 0) return
      if (lane.isHome) refill(lane)
      if (!lane.isHome || lane.looks >= mostLooks) lanes.delete(lane.key)
    },
  }
}

/**
 * What a try is counted by. The pair's count stays when somebody else signs in from that network, so that a viewer who
 * does so between guesses gains no extra tries at an administrator's password.
 */
interface Keys {
  network: string
  pair: string
  account: string
}

function keysOf({ address, account }: Contender): Keys {
  const network = networkOf(address)
  return { network, pair: `${network} ${account}`, account: `account ${account}` }
}

/**
 * Wrong tries by key. When full, the key that has been quiet longest is dropped; quiet keys are also forgotten in time.
 */
function createWrongTries(clock: Clock, { freeTries, waitMs, waitMaxMs, forgetMs, table }: SignInBounds) {
  const tries = new Map<string, { wrong: number; lastMs: number }>()

  function wrongOf(key: string): number {
    const found = tries.get(key)
    if (found === undefined) return 0
    if (clock.monotonicMs() - found.lastMs < forgetMs) return found.wrong
    tries.delete(key)
    return 0
  }

  function addTo(key: string): number {
    const now = wrongOf(key) + 1
    tries.delete(key)
    const quietest = tries.keys().next()
    if (tries.size >= 3 * table && !quietest.done) tries.delete(quietest.value)
    tries.set(key, { wrong: now, lastMs: clock.monotonicMs() })
    return now
  }

  return {
    /** Counts a wrong try. @returns the delay, by the highest of its counts */
    add({ network, pair, account }: Keys): number {
      const own = Math.max(addTo(network), addTo(pair))
      // Wrong tries from one network alone delay nobody elsewhere: it takes more than two networks.
      const most = Math.max(own, own <= freeTries / 2 ? addTo(account) : wrongOf(account))
      // 2 ** 1024 is Infinity, which Math.min handles.
      return most < freeTries ? 0 : Math.min(waitMaxMs, waitMs * 2 ** (most - freeTries))
    },
    /** 0 for a key without wrong tries, up to `freeTries`. */
    guiltOf: (key: string) => Math.min(freeTries, wrongOf(key)),
    forget(keys: Keys): void {
      for (const key of Object.values(keys)) tries.delete(key)
    },
  }
}

type GuiltOf = (lane: Lane) => number

/** Queued tries: picks the next one, and the one to drop when full. */
function createLine(bounds: SignInBounds, guiltOf: GuiltOf) {
  const waiting = new Set<Waiter>()
  /** Turn in which each wide network was last served; the oldest first. */
  const served = new Map<string, number>()
  let turn = 0

  function remove(waiter: Waiter): void {
    waiting.delete(waiter)
    waiter.lane.waiting = waiter.lane.waiting.filter((other) => other !== waiter)
  }

  function lanesOf(): Lane[] {
    return [...new Set([...waiting].map(({ lane }) => lane))]
  }

  function greediest(own: Lane): Lane {
    const count = (lane: Lane) => lane.waiting.length + (lane === own ? 1 : 0)
    const rank = (lane: Lane) => [-count(lane), -guiltOf(lane), lane.isHome ? 1 : 0, lane === own ? 0 : 1]
    return leastBy([...lanesOf(), own], rank) ?? own
  }

  return {
    remove,
    add(waiter: Waiter): void {
      waiting.add(waiter)
      waiter.lane.waiting.push(waiter)
    },
    /**
     * When full, drops the newest try of the lane with the most waiting; among equals, of the lane with more wrong
     * tries. @throws Fault
     */
    makeRoom(lane: Lane, account: string): void {
      const isOwnFull = lane.waiting.length >= bounds.queueOfOne
      if (!isOwnFull && waiting.size < bounds.queue) return
      const fault = isOwnFull ? tooManyOfOne(lane) : tooMany(waiting.size)
      const worst = isOwnFull ? lane : greediest(lane)
      const newest = newestOf(worst, worst === lane ? account : undefined)
      if (newest === undefined) throw fault
      remove(newest)
      newest.refuse(fault)
    },
    /** The next try of a lane that has a free place. @param takesSuspects whether it may come from a suspect lane */
    next(takesSuspects: boolean): Waiter | undefined {
      if (waiting.size === 0) return undefined
      const open = lanesOf().filter((lane) => takenOf(lane) < bounds.places)
      const lanes = takesSuspects ? open : open.filter((lane) => guiltOf(lane) < bounds.freeTries)
      const isOldest = turn % TURN_OF_THE_OLDEST === TURN_OF_THE_OLDEST - 1
      const rank = ({ lane, arrival }: Waiter) =>
        isOldest ? [arrival] : [guiltOf(lane), lane.isHome ? 0 : 1, served.get(lane.wide) ?? -1, arrival]
      return leastBy(lanes.map(nextOf), rank)
    },
    serve(waiter: Waiter): void {
      remove(waiter)
      const { wide } = waiter.lane
      served.delete(wide)
      const oldest = served.keys().next()
      if (served.size >= bounds.table && !oldest.done) served.delete(oldest.value)
      served.set(wide, turn++)
    },
  }
}

interface Turn<Result> {
  lane: Lane
  account: string
  signal: AbortSignal | undefined
  run(): Promise<Result>
}

/** Runs queued tries, a few at a time. */
function createTurns(bounds: SignInBounds, guiltOf: GuiltOf) {
  const { workers, freeTries } = bounds
  const line = createLine(bounds, guiltOf)
  // With two or more workers, one is reserved for lanes that are not suspect.
  const mostSuspects = Math.max(1, workers - 1)
  let running = 0
  let suspects = 0
  let arrivals = 0

  function next(): void {
    while (running < workers) {
      const waiter = line.next(suspects < mostSuspects)
      if (!waiter) return
      line.serve(waiter)
      enter(waiter.lane, waiter.account)
      waiter.begin(guiltOf(waiter.lane) >= freeTries ? 1 : 0)
    }
  }

  return {
    next,
    /** Runs in its turn. It takes a place of its lane, which the caller frees, unless this rejects. */
    take<Result>({ lane, account, signal, run }: Turn<Result>): Promise<Result> {
      const { promise, resolve, reject } = Promise.withResolvers<Result>()
      const onAbort = () => {
        line.remove(waiter)
        reject(new Fault('client_gone', 'the client hung up before its password was looked at'))
      }
      function refuse(fault: unknown): void {
        signal?.removeEventListener('abort', onAbort)
        reject(fault)
      }
      async function begin(suspect: number): Promise<void> {
        running++
        suspects += suspect
        signal?.removeEventListener('abort', onAbort)
        try {
          resolve(await run())
        } catch (fault) {
          leave(lane, account)
          reject(fault)
        }
        running--
        suspects -= suspect
        next()
      }
      const waiter: Waiter = { lane, account, arrival: arrivals++, begin: (suspect) => void begin(suspect), refuse }
      if (signal?.aborted) onAbort()
      else {
        line.makeRoom(lane, account)
        signal?.addEventListener('abort', onAbort, { once: true })
        line.add(waiter)
        next()
      }
      return promise
    },
  }
}

/** Within a lane, the account with the fewest places comes first, so that guesses at one name do not block another. */
function nextOf(lane: Lane): Waiter {
  const rank = ({ account, arrival }: Waiter) => [lane.taken.get(account) ?? 0, arrival]
  return leastBy(lane.waiting, rank) as Waiter
}

/** The newest try of the account with the most waiting. @returns undefined if that is the account just arriving */
function newestOf({ waiting }: Lane, coming: string | undefined): Waiter | undefined {
  const held = new Map<string, number>(coming === undefined ? [] : [[coming, 1]])
  for (const { account } of waiting) held.set(account, (held.get(account) ?? 0) + 1)
  const most = Math.max(...held.values())
  if (coming !== undefined && held.get(coming) === most) return undefined
  return waiting.findLast(({ account }) => held.get(account) === most)
}

function leastBy<Item>(items: readonly Item[], rankOf: (item: Item) => readonly number[]): Item | undefined {
  let least: { item: Item; rank: readonly number[] } | undefined
  for (const item of items) {
    const rank = rankOf(item)
    if (least === undefined || isLess(rank, least.rank)) least = { item, rank }
  }
  return least?.item
}

function isLess(one: readonly number[], other: readonly number[]): boolean {
  const at = one.findIndex((value, i) => value !== other[i])
  return at >= 0 && Number(one[at]) < Number(other[at])
}

function tooManyOfOne({ waiting }: Lane): Fault {
  const sentence = `${waiting.length} sign-ins from your network are waiting already. Try again in a few seconds.`
  return new Fault('slow_down', sentence, { details: { retryAfterMs: 2000 } })
}

function tooMany(count: number): Fault {
  const sentence = `${count} sign-ins are waiting already. Try again in a few seconds.`
  return new Fault('busy', sentence, { details: { retryAfterMs: 2000 } })
}
