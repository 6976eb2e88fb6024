/** Zones on the pages: the list, the socket that sends changes, commands and macros. */
import type { Clock } from '#kit/clock.ts'
import type { Caller, Route } from '#kit/http/route.ts'
import type { Socket, SocketRoute } from '#kit/http/sockets.ts'
import { type Origin, siteView } from '../core/access/accounts.ts'
import type { LiveBook } from '../core/live/live-book.ts'
import { type FeedLimits, openZoneFeed, type ZoneFeed } from '../core/live/zone-feed.ts'
import { groupZones, listMacros } from '../core/live/zones.ts'
import type { Book } from '../core/site/book.ts'
import type { UiControl, UiPending, UiPeople } from '../core/surfaces.ts'
import { commanded, zonesAnswer } from './answers.ts'
import { controlBody } from './rest-endpoints.ts'
import { granted, type UiGate } from './ui-gate.ts'

// The socket `/ui/live`: live changes of zones.

/** The holder of a ticket: the session behind it, and its origin. */
export interface UiCaller extends Caller {
  token: string
  from: Origin
}

/** What the socket depends on. */
interface UiLiveParts {
  people: Pick<UiPeople, 'sessionOf'>
  control: Pick<UiControl, 'scope'>
  pending: Pick<UiPending, 'count'>
  book: Book
  live: LiveBook
  clock: Clock
  limits: FeedLimits & {
    /** Most sockets of one session: one per open tab. */
    socketsPerSession: number
  }
}

/** The socket, and the functions that limit and end it. */
interface UiLive {
  route: SocketRoute
  /** Whether a session may open one more. Checked before the upgrade, so that a refused page backs off. */
  hasRoom(token: string): boolean
  /** Closes at once every socket whose session is over. */
  closeEnded(): void
}

/** RFC 6455, 7.4.1. */
const POLICY = 1008

/** Sockets that only send; before each message, the session is checked again. */
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
    socket.onMessage(() => socket.close(POLICY, 'this socket only sends; commands go to /ui/command'))
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

/** A token of the REST surface cannot open a page's socket. */
function isUiCaller(caller: Caller | undefined): caller is UiCaller {
  return caller !== undefined && 'from' in caller && 'token' in caller
}

// The routes: zones with their live state, and commands.

/** What these routes depend on. */
interface UiZoneParts {
  control: UiControl
  book: Book
  live: LiveBook
  clock: Clock
}

/** Routes for what a person sees and does. @source document 1, POST /api/control/:action */
export function uiZoneRoutes(gate: UiGate, { control, book, live, clock }: UiZoneParts): Route[] {
  return [
    gate.signed({
      method: 'GET',
      path: '/ui/zones',
      reply: zonesAnswer,
      summary: 'Zones that this person may see and command, by room, with what they do now; and their macros',
      handle({ session }) {
        const groups = groupZones({ book, live }, session, control.scope(session))
        return granted({ site: siteView(book), now: clock.epochMs(), groups, macros: listMacros(book, session) })
      },
    }),
    gate.signed({
      method: 'POST',
      path: '/ui/command',
      body: { schema: controlBody },
      reply: commanded,
      isRecordedFirst: true,
      summary: 'As POST /api/control/command',
      handle: async ({ session, body }) => ({ outcome: await control.command(session, body) }),
    }),
    gate.signed({
      method: 'POST',
      path: '/ui/macro',
      body: { schema: controlBody },
      reply: commanded,
      isRecordedFirst: true,
      summary: 'As POST /api/control/macro',
      handle: async ({ session, body }) => ({ outcome: await control.macro(session, body) }),
    }),
  ]
}
