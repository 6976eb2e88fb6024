/**
 * What root of this machine asks of its network, over the socket of ota-socket.ts: `plantroom network set` and
 * `plantroom network confirm`. The board proves a new address, or takes it back, as it does with one from its page.
 */
import { Type } from 'typebox'
import { createReader } from '#kit/http/check.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { Recorder } from '#kit/records/records.ts'
import type { NetworkCare } from '../core/machine/network.ts'
import type { Rebooter } from '../core/machine/ports.ts'
import type { SettingsBook } from '../core/settings/book.ts'

/** Answers one request. @param readBody its body as JSON. @throws Fault */
export type NetworkRequests = (method: string, url: string, readBody: () => Promise<unknown>) => Promise<object>

interface NetworkRequestParts {
  book: SettingsBook
  network: NetworkCare
  rebooter: Rebooter
  recorder: Recorder
  /** How long a new address waits to be reached, ms. */
  confirmMs: number
}

/** As the journal names who changed it. */
const BY = { caller: { name: 'plantroom network' }, remoteAddress: 'this machine' } as const

const text = Type.Optional(Type.String({ maxLength: 64 }))
const readChange = createReader(
  Type.Object(
    { static_ip: Type.Optional(Type.Enum(['0', '1'])), ip: text, mask: text, gw: text, dns: text, hostname: text },
    { additionalProperties: false },
  ),
)

/**
 * `PATCH /network` takes those of the settings `static_ip`, `ip`, `mask`, `gw`, `dns` and `hostname` that are to change, saves and
 * restarts unless all of them are so already, and answers `{changed, restarts, about_s, confirm_s, goes_back_to, static_ip, ip, hostname}`. `POST /network/confirm` answers
 * `{text}`.
 * @throws Fault `network_not_owned`, `nothing_to_confirm`, `not_found`, and what saving throws
 */
export function createNetworkRequests(by: NetworkRequestParts): NetworkRequests {
  const { book, confirmMs, network, rebooter, recorder } = by

  async function change(body: unknown): Promise<object> {
    const { changed, settings } = await book.save(readChange(body) as Record<string, string>, 'kept')
    // An address that was taken back, or that the machine did not take, is tried once more when it is saved again.
    const restarts = changed.length > 0 || ['fallen_back', 'refused'].includes(network.view().state)
    if (restarts) {
      const now = Object.fromEntries(changed.map((name) => [name, settings[name]]))
      await recorder.changed(BY, 'settings saved', settings.hostname, now)
      await rebooter.reboot('config')
    }
    return {
      ...{ changed, restarts, about_s: rebooter.aboutS, confirm_s: Math.round(confirmMs / 1000) },
      goes_back_to: network.goesBackTo(),
      ...{ static_ip: settings.static_ip, ip: settings.ip, hostname: settings.hostname },
    }
  }

  function confirm(): object {
    if (network.confirm()) return { text: network.view().text }
    throw new Fault('nothing_to_confirm', `No new address waits to be confirmed. ${network.view().text}`)
  }

  return async (method, url, readBody) => {
    if (network.view().state === 'not_owned')
      throw new Fault(
        'network_not_owned',
        'this machine is not the board’s own: machine.owned is not true in /etc/plantroom/board.toml',
      )
    if (method === 'PATCH' && url === '/network') return await change(await readBody())
    if (method === 'POST' && url === '/network/confirm') return confirm()
    throw new Fault('not_found', `this socket has no ${method} ${url}`)
  }
}
