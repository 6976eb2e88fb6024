/**
 * Operations of ONVIF on what a camera switches. Their elements are those of the device service also where the service of
 * inputs and outputs is asked.
 * @source ONVIF Core Specification 8.5 (relay outputs); Device IO Service Specification 5.5
 */
import { plainText } from '#kit/pure/text.ts'
import type { OnvifOperation } from './onvif.ts'
import { childrenOf, escapeXml } from './xml.ts'

const DEVICE = 'http://www.onvif.org/ver10/device/wsdl'
export const DEVICE_IO = 'http://www.onvif.org/ver10/deviceIO/wsdl'

/** Further ones are ignored: a recorder of 64 channels tells of theirs too. */
export const MOST_RELAYS = 32
const LONGEST_TOKEN = 64

/** @returns their tokens, which name them to the camera */
export const getRelayOutputs: OnvifOperation<string[]> = {
  body: `<GetRelayOutputs xmlns="${DEVICE}"/>`,
  answer: 'GetRelayOutputsResponse',
  read(answer) {
    const tokens = childrenOf(answer, 'RelayOutputs').map(({ attributes }) => attributes.get('token') ?? '')
    const usable = tokens.filter((token) => token !== '' && plainText(token, LONGEST_TOKEN) === token)
    return [...new Set(usable)].slice(0, MOST_RELAYS)
  },
}

export function setRelayOutputState(token: string, isOn: boolean): OnvifOperation<undefined> {
  const relay = `<RelayOutputToken>${escapeXml(token)}</RelayOutputToken>`
  return {
    body: `<SetRelayOutputState xmlns="${DEVICE}">${relay}<LogicalState>${isOn ? 'active' : 'inactive'}</LogicalState></SetRelayOutputState>`,
    answer: 'SetRelayOutputStateResponse',
    read: () => undefined,
  }
}
