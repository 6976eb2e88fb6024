/** States of the address of a board that owns its machine. */

/** What happens to it. */
export type NetworkEvent = 'addressSet' | 'dhcpSet' | 'contact' | 'expired' | 'refused'

export type NetworkState =
  /** The machine belongs to somebody else, who looks after its address. */
  | 'not_owned'
  | 'dhcp'
  /** It has a new fixed address, and nobody has reached it there yet. */
  | 'unconfirmed'
  | 'static'
  /** Nobody reached the fixed address in time: it asks by DHCP until the settings are saved again. */
  | 'fallen_back'
  /** The machine did not take what was set. */
  | 'refused'

/** State, event, next state; what is not there leaves the state as it is. */
export const networkStateTable: Readonly<Record<NetworkState, Partial<Record<NetworkEvent, NetworkState>>>> = {
  not_owned: {},
  dhcp: { addressSet: 'unconfirmed', refused: 'refused' },
  unconfirmed: {
    dhcpSet: 'dhcp',
    contact: 'static',
    expired: 'fallen_back',
    refused: 'refused',
  },
  static: { addressSet: 'unconfirmed', dhcpSet: 'dhcp', refused: 'refused' },
  fallen_back: { addressSet: 'unconfirmed', dhcpSet: 'dhcp', refused: 'refused' },
  refused: { addressSet: 'unconfirmed', dhcpSet: 'dhcp' },
}
