/** bonjour-service, as far as it is used. Loaded when it is needed: a daemon that is not to be found holds none of it. */
import type Bonjour from 'bonjour-service'
import type { Browser, Service } from 'bonjour-service'
import { atMost, type Clock } from '#kit/clock.ts'
import { type HeardService, heardServiceOf } from './heard-service.ts'
import type { LibrarySocket } from './library-socket.ts'
import type { Link } from './links.ts'
import type { ServiceKind } from './service-kind.ts'

/** What is told of others. */
export interface Hearing {
  onHeard(service: HeardService): void
  onGoodbye(id: string): void
  links: readonly Link[]
}

/** bonjour-service over one socket. */
export interface Library {
  publish(announced: { instance: string; hostname: string; port: number; text: Readonly<Record<string, string>> }): void
  /** Asks who is there. Each round begins knowing nobody, so that everybody who answers is told of again. */
  find(hearing: Hearing): void
  /** Takes back what was published. */
  farewell(clock: Clock, deadlineMs: number): Promise<void>
  close(): void
}

/**
 * Bytes of messages that a round may remember; past this it knows nobody, and whoever is heard is told of again. The
 * library keeps each service as it came, decoded: a key that is a number alone takes kilobytes.
 */
const REMEMBERED_BYTES = 32_768

/**
 * @param socket heard and spoken through; the library has none of its own
 * @param onFault what could not be sent; the library would throw it where nobody catches
 */
export async function openLibrary(
  socket: LibrarySocket,
  { subtype, type }: ServiceKind,
  onFault: (fault: unknown) => void,
): Promise<Library> {
  const { default: Library } = await import('bonjour-service')
  const settings = { socket, bind: false, multicast: false } as unknown as ConstructorParameters<typeof Bonjour>[0]
  const bonjour = new Library(settings, onFault)
  const subtypes = subtype === undefined ? [] : [subtype]
  // The library's browser knows no subtypes; a name stands where one would.
  const sought = subtype === undefined ? { type } : { type, name: `_${subtype}._sub` }
  let browser: Browser | undefined
  let rememberedBytes = 0
  // Before the library hears it: of some messages it remembers a part and throws at the rest.
  socket.prependListener('message', ({ length }: Uint8Array) => {
    rememberedBytes += length
    if (rememberedBytes <= REMEMBERED_BYTES) return
    rememberedBytes = length
    if (browser) Object.assign(browser, { _services: [], serviceMap: {} })
  })

  return {
    publish({ instance, hostname, port, text }) {
      const host = `${hostname}.local`
      // Probing: of two that meet, the loser would take back the winner's records.
      bonjour.publish({ name: instance, type, subtypes, host, port, txt: { ...text }, probe: false })
    },
    find({ onHeard, onGoodbye, links }) {
      browser?.stop()
      rememberedBytes = 0
      const hear = (service: Service) => {
        const heard = heardServiceOf(service, links)
        if (heard) onHeard(heard)
      }
      browser = bonjour.find(sought, hear)
      browser.on('srv-update', hear).on('txt-update', hear)
      browser.on('down', ({ fqdn }) => onGoodbye(String(fqdn).toLowerCase()))
    },
    async farewell(clock, deadlineMs) {
      const { promise, resolve } = Promise.withResolvers<void>()
      bonjour.unpublishAll(() => resolve())
      await atMost(clock, deadlineMs, promise)
    },
    close() {
      browser?.stop()
      bonjour.destroy()
    },
  }
}
