/** `/ui/live`: what the zones of a page do, told as it happens. */
import type { Clock } from '#kit/clock.ts'
import type { Caller } from '#kit/http/route.ts'
import type { Socket, SocketRoute } from '#kit/http/sockets.ts'
import type { LiveBook } from '../core/live.ts'
import type { Book } from '../core/row.ts'
import type { Origin } from '../core/session.ts'
import type { UiControl, UiPending, UiPeople } from '../core/ui-ports.ts'
import { type FeedLimits, openZoneFeed, type ZoneFeed } from '../core/zone-feed.ts'

/** Whom a ticket was given to: the session behind it, and from where it came. */
export interface UiCaller extends Caller {
  token: string
  from: Origin
}

/** What the socket stands on. */
export interface UiLiveParts {
  people: Pick<UiPeople, 'sessionOf'>
  control: Pick<UiControl, 'scope'>
  pending: Pick<UiPending, 'count'>
  book: Book
  live: LiveBook
  clock: Clock
  limits: FeedLimits & {
    /** Sockets open at once for one session: one for each tab that somebody really looks at. */
    socketsPerSession: number
  }
}

/** The socket, and what ends it. */
export interface UiLive {
  route: SocketRoute
  /** Whether one more may be opened for a session. Asked before the upgrade, so that a page that is refused waits longer each time. */
  hasRoom(token: string): boolean
  /** Closes every socket whose session is over, at once. */
  closeEnded(): void
}

/** RFC 6455, 7.4.1. */
const POLICY = 1008

/** Sockets that tell and never take; each is asked at every message whether its session still stands. */
export function createUiLive({ people, control, pending, ...parts }: UiLiveParts): UiLive {
  const open = new Map<ZoneFeed, string>()

  function serve(socket: Socket, { token, from }: UiCaller): void {
    const session = () => people.sessionOf(token, from, false)
    const scope = () => {
      const now = session()
      return now && control.scope(now)
    }
    const feed = openZoneFeed(
      {
        ...parts,
        scope,
        pending: () => (session()?.isElevated ? pending.count() : null),
        onOver: () => socket.close(POLICY, 'signed out'),
      },
      {
        send: (message) => socket.send(JSON.stringify(message)),
        get hasCaughtUp() {
          return socket.bufferedBytes === 0
        },
      },
    )
    open.set(feed, token)
    socket.onMessage(() => socket.close(POLICY, 'this socket only tells; commands go to /ui/command'))
    socket.onClose(() => {
      feed.end()
      open.delete(feed)
    })
  }

  return {
    route: {
      path: '/ui/live',
      who: 'user',
      summary: 'What the zones of a page do, as it happens; opened with a ticket of POST /ui/ticket',
      open(socket, caller) {
        if (isUiCaller(caller)) return serve(socket, caller)
        socket.close(POLICY, 'opened without a ticket of this page')
      },
    },
    hasRoom: (token) => [...open.values()].filter((other) => other === token).length < parts.limits.socketsPerSession,
    closeEnded() {
      for (const feed of [...open.keys()]) feed.check()
    },
  }
}

/** A token of the REST surface opens no page. */
function isUiCaller(caller: Caller | undefined): caller is UiCaller {
  return caller !== undefined && 'from' in caller && 'token' in caller
}
