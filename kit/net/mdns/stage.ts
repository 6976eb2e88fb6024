/** Sockets with a library over them: what lives from one change of interfaces to the next. */
import type { Clock } from '#kit/clock.ts'
import { type Admitted, createGuard, type Refusal } from './guard.ts'
import { type Library, openLibrary } from './library.ts'
import { LibrarySocket } from './library-socket.ts'
import type { Link } from './links.ts'
import { mentions } from './message.ts'
import { labelsOf, type ServiceKind, soughtOf } from './service-kind.ts'
import type { OpenSockets } from './sockets.ts'

/** What is open now. */
export interface Stage {
  links: readonly Link[]
  library: Library
  /** A question that was put within this time, by whomever, is not put again. */
  spareQuestions(withinMs: number): void
  /** @param farewell whether what was announced is taken back */
  close(farewell: boolean): Promise<void>
}

/** What it is made of. */
export interface StageOptions {
  clock: Clock
  links: readonly Link[]
  port: number
  openSockets: OpenSockets
  chance(): number
  kind: ServiceKind
  /** What the machine is called, lower case, without a domain. Undefined where nothing is announced. */
  hostname: string | undefined
  /** The name that is announced. Undefined where nothing is. */
  instance: string | undefined
  perSecond: number
  isFinding: boolean
  onRefused(why: Refusal): void
  /** bonjour-service threw at a message. */
  onBroken(from: string, fault: unknown): void
  /** A link, or all, cannot be spoken or listened to. */
  onTrouble(link: Link | undefined, fault: unknown): void
}

/** How long a farewell may take. */
const FAREWELL_MS = 500

/** @throws the system's error where the port cannot be shared */
export async function openStage(options: StageOptions): Promise<Stage> {
  const { clock, links, port, kind, isFinding, chance, hostname, openSockets, onTrouble } = options
  const sought = soughtOf(kind)
  const own = options.instance === undefined ? [] : [asHeard(options.instance)]
  const guard = createGuard({
    clock,
    links,
    port,
    kind: sought,
    labels: [...labelsOf(kind), '_dns-sd', ...(hostname === undefined ? [] : [hostname])],
    isFinding,
    perSecond: options.perSecond,
    onRefused: options.onRefused,
  })
  function onMessage(bytes: Uint8Array, from: { address: string; port: number }): void {
    const admitted = guard(bytes, from)
    if (!admitted || isOwn(bytes, from.address, admitted)) return
    try {
      socket.hear(bytes, from, admitted)
    } catch (fault) {
      options.onBroken(from.address, fault)
    }
  }
  /** What we said ourselves comes back to us; what another daemon of this machine says has the same address. */
  function isOwn(bytes: Uint8Array, from: string, { message, link }: Admitted): boolean {
    return message.isResponse && link.addresses.includes(from) && mentions(bytes, own)
  }
  const sockets = await openSockets({ links, port, onMessage, onTrouble })
  const send = (link: Link, bytes: Uint8Array) => sockets.send(link, bytes)
  const socket = new LibrarySocket({ clock, links, kind: sought, host: `${hostname}.local`, send, chance })
  const library = await openLibrary(socket, kind, (fault) => onTrouble(undefined, fault))
  return {
    links,
    library,
    spareQuestions(withinMs) {
      socket.spareMs = withinMs
    },
    async close(farewell) {
      if (farewell) await library.farewell(clock, FAREWELL_MS)
      library.close()
      sockets.close()
    },
  }
}

/** A name as `mentions` compares it: its bytes, one character each, lower case as far as those are letters. */
function asHeard(instance: string): string {
  return Buffer.from(instance).toString('latin1').toLowerCase()
}
