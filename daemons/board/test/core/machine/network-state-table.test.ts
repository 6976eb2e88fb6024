import t from 'tap'
import { type NetworkEvent, type NetworkState, networkStateTable } from '../../../core/machine/network.ts'

const ROWS: Record<NetworkState, Partial<Record<NetworkEvent, NetworkState>>> = {
  not_owned: {},
  dhcp: { addressSet: 'unconfirmed', expired: 'fallen_back', refused: 'refused' },
  unconfirmed: { dhcpSet: 'dhcp', contact: 'static', expired: 'fallen_back', refused: 'refused' },
  static: { addressSet: 'unconfirmed', dhcpSet: 'dhcp', refused: 'refused' },
  fallen_back: { addressSet: 'unconfirmed', dhcpSet: 'dhcp', refused: 'refused' },
  refused: { addressSet: 'unconfirmed', dhcpSet: 'dhcp' },
}
const EVENTS: NetworkEvent[] = ['addressSet', 'dhcpSet', 'contact', 'expired', 'refused']

for (const [state, row] of Object.entries(ROWS) as [NetworkState, (typeof ROWS)[NetworkState]][])
  t.test(`from ${state} each event leads where it says, and nowhere else`, async (t) => {
    for (const event of EVENTS) t.equal(networkStateTable[state][event], row[event], event)
  })
