/** What is asked of the privileged helper, one thing at a time: binding and handing over touch the same driver. */
import { Fault } from '#kit/fault.ts'
import { createTurn } from '#kit/turn.ts'
import type { RootHelper } from '../../../core/machine/ports.ts'
import type { HelperVerb } from '../../../wire/helper-line.ts'
import type { HostLink } from './ports.ts'

/** Verbs of this role. */
export type UsbipVerb = Extract<HelperVerb, `usbip-${string}`>

/** As many wait as devices have something to be done, each device one thing at a time. */
export interface HelperTurns {
  /**
   * @param link whose descriptor goes along, as it is when the turn has come
   * @throws Fault of the helper; `usbip_host_gone` where the link has closed meanwhile
   */
  ask(verb: UsbipVerb, busId: string, link?: HostLink): Promise<void>
}

export function createHelperTurns(helper: RootHelper): HelperTurns {
  const inTurn = createTurn()

  async function askNow(verb: UsbipVerb, busId: string, link?: HostLink): Promise<void> {
    if (link && link.fd < 0)
      throw new Fault('usbip_host_gone', `The host ${link.address} went before it had the device.`)
    await helper.ask(verb, [busId], link?.fd)
  }

  return { ask: (verb, busId, link) => inTurn(() => askNow(verb, busId, link)) }
}
