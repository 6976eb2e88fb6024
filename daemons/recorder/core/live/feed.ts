/** The status feed: tells readers which cameras they may see and how those are, again at each change, and what happens at them. */
import type { Clock, Timer } from '#kit/clock.ts'

/** A camera as a reader is told of it. */
export interface ToldCamera {
  id: string
  view: unknown
  /** Tells whether it has changed since it was told. */
  mark: string
}

interface FeedParts<Account> {
  clock: Clock
  /** The cameras that an account may see, as they are now. */
  seenBy(account: Account): ToldCamera[]
  maySee(account: Account, cameraId: string): boolean
}

/** @returns false if it was not taken: too much waits */
export type TellReader = (text: string) => boolean

/** A message of the feed: what kind it is, and what it says. */
export type FeedNews = Readonly<Record<string, unknown>> & { type: string }

export interface StatusFeed<Account> {
  /**
   * @param greeting `ids`: it begins with the ids alone, and each camera follows as a message of its own, so that none is long
   * @returns ends it
   */
  open(account: Account, tell: TellReader, greeting?: 'cameras' | 'ids'): () => void
  /** A camera may be another now. */
  changed(): void
  /** Tells what happened at a camera, once, to who sees it; a reader for whom too much waits is not told. */
  tell(cameraId: string, news: FeedNews): void
  /** The same of what is not of one camera. @param newsFor what an account is told; undefined: nothing */
  tellEach(newsFor: (account: Account) => FeedNews | undefined): void
  /**
   * What readers have asked for by a route is another: they ask anew.
   * @param isFor who is told; a reader for whom too much waits is told the newest of its type later, once and without a camera
   */
  tellStale(news: FeedNews, isFor: (account: Account) => boolean): void
  close(): void
}

/** Interface document 3, A, Limits. */
const HEARTBEAT_MS = 15_000

/** What changes within this time is told together. */
const GATHER_MS = 100

interface Reader<Account> {
  account: Account
  tell: TellReader
  /** Marks by camera. What a reader could not be told is missing, and told later: nothing waits for it but the newest. */
  told: Map<string, string>
  /** News that it could not be told, the newest of each type. */
  missed: Map<string, FeedNews>
}

export function createStatusFeed<Account>({ clock, maySee, seenBy }: FeedParts<Account>): StatusFeed<Account> {
  const readers = new Set<Reader<Account>>()
  let gathering: Timer | undefined
  let heartbeat: Timer | undefined

  function update({ account, missed, tell, told }: Reader<Account>): void {
    const seen = seenBy(account)
    for (const { id, mark, view } of seen)
      if (told.get(id) !== mark && tell(JSON.stringify({ type: 'camera-state', cameraId: id, camera: view })))
        told.set(id, mark)
    for (const id of [...told.keys()])
      if (!seen.some((camera) => camera.id === id) && tell(JSON.stringify({ type: 'camera-removed', cameraId: id })))
        told.delete(id)
    for (const [type, news] of [...missed]) if (tell(JSON.stringify(news))) missed.delete(type)
  }

  function updateAll(): void {
    gathering = undefined
    for (const reader of readers) update(reader)
  }

  function beat(): void {
    const text = JSON.stringify({ type: 'heartbeat', at: clock.epochMs() })
    for (const reader of readers) {
      update(reader)
      reader.tell(text)
    }
  }

  function close(): void {
    gathering?.cancel()
    heartbeat?.cancel()
    gathering = undefined
    heartbeat = undefined
  }

  function tellEach(newsFor: (account: Account) => FeedNews | undefined): void {
    for (const { account, tell } of readers) {
      const news = newsFor(account)
      if (news) tell(JSON.stringify(news))
    }
  }

  return {
    tellEach,
    open(account, tell, greeting = 'cameras') {
      const seen = seenBy(account)
      const reader: Reader<Account> = { account, tell, told: new Map(), missed: new Map() }
      if (greeting === 'ids') {
        tell(JSON.stringify({ type: 'hello', at: clock.epochMs(), cameraIds: seen.map(({ id }) => id) }))
        update(reader)
      } else if (tell(JSON.stringify({ type: 'hello', at: clock.epochMs(), cameras: seen.map(({ view }) => view) })))
        for (const { id, mark } of seen) reader.told.set(id, mark)
      readers.add(reader)
      heartbeat ??= clock.every(HEARTBEAT_MS, beat)
      return () => {
        readers.delete(reader)
        if (readers.size === 0) close()
      }
    },
    changed() {
      if (readers.size > 0) gathering ??= clock.after(GATHER_MS, updateAll)
    },
    tell(cameraId, { type, ...more }) {
      const news = { type, cameraId, ...more }
      tellEach((account) => (maySee(account, cameraId) ? news : undefined))
    },
    tellStale(news, isFor) {
      // Several may be missed, of more than one camera, and until then somebody may see less.
      const { cameraId: _, ...ofAll } = news
      for (const reader of readers)
        if (isFor(reader.account) && !reader.tell(JSON.stringify(news))) reader.missed.set(news.type, ofAll)
    },
    close,
  }
}
