/** The address of the machine, set by the helper that runs as root. */
import { Fault } from '#kit/fault.ts'
import { reachableAddresses } from '#kit/net/own-addresses.ts'
import type { NetworkMachine } from '../core/network-care.ts'
import type { RootHelper } from '../core/ports.ts'

/** @param interfaceName which one is set; undefined where the machine has none */
export function helperNetwork(helper: RootHelper, interfaceName: () => string | undefined): NetworkMachine {
  function name(): string {
    const found = interfaceName()
    if (found === undefined)
      throw new Fault('no_interface', 'this machine has no network interface to set an address on')
    return found
  }
  return {
    setAddress: async ({ ip, prefix, gw }) =>
      void (await helper.ask('network', ['static', name(), `${ip}/${prefix}`, gw || '-'])),
    setDhcp: async () => void (await helper.ask('network', ['dhcp', name()])),
    ownAddresses: () => ['127.0.0.1', '::1', ...reachableAddresses().map(({ address }) => address)],
  }
}
