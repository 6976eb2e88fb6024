/**
 * Where the services of a camera are.
 * @source ONVIF Core Specification 8.1.2 (GetServices), 8.1.1 (GetCapabilities)
 */
import type { OnvifOperation } from './onvif.ts'
import { childrenOf, textAt } from './xml.ts'

const DEVICE = 'http://www.onvif.org/ver10/device/wsdl'

/** @returns the address of a service; undefined where the camera has none. @param namespace of the service */
export function getServiceAddress(namespace: string): OnvifOperation<string | undefined> {
  return {
    body: `<GetServices xmlns="${DEVICE}"><IncludeCapability>false</IncludeCapability></GetServices>`,
    answer: 'GetServicesResponse',
    read: (answer) =>
      textAt(
        childrenOf(answer, 'Service').find((service) => textAt(service, 'Namespace') === namespace),
        'XAddr',
      ),
  }
}

/** The same of cameras that are older than `GetServices`. @param path of the service below Capabilities, such as `Events` */
export function getCapabilityAddress(...path: readonly string[]): OnvifOperation<string | undefined> {
  return {
    body: `<GetCapabilities xmlns="${DEVICE}"><Category>All</Category></GetCapabilities>`,
    answer: 'GetCapabilitiesResponse',
    read: (answer) => textAt(answer, 'Capabilities', ...path, 'XAddr'),
  }
}
