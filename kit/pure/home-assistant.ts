/** What messages of MQTT discovery have in common: how Home Assistant is told of a device, and by which topics. */

/** A device as Home Assistant groups entities by it. */
export interface HomeDevice {
  id: string
  name: string
  maker?: string
  model?: string
  version?: string
  /** Id of the device behind which it is. */
  via?: string
}

/** What all entities of one daemon share. */
export interface HomeOrigin {
  /** Program and version that sends the discovery. */
  program: string
  version: string
  /** Topic with `online` and `offline`. */
  statusTopic: string
}

/** One entity: a part of its topic, and its description. */
export interface HomeEntity {
  component: 'sensor' | 'binary_sensor'
  id: string
  config: Readonly<Record<string, unknown>>
}

/** An entity before it is described. */
interface HomeName {
  id: string
  name: string
  device: HomeDevice
}

/** What tells an entity apart, and where it belongs. */
export function homeIdentity({ device, id, name }: HomeName, { program, version }: HomeOrigin) {
  return {
    name,
    unique_id: id,
    device: {
      identifiers: [device.id],
      name: device.name,
      ...(device.maker !== undefined && { manufacturer: device.maker }),
      ...(device.model !== undefined && { model: device.model }),
      ...(device.version !== undefined && { sw_version: device.version }),
      ...(device.via !== undefined && { via_device: device.via }),
    },
    origin: { name: program, sw_version: version },
  }
}

/**
 * The topic of an entity's description; an empty retained message there removes the entity.
 * @source home-assistant.io, MQTT integration, Discovery topic: <discovery_prefix>/<component>/<node_id>/<object_id>/config
 */
export function homeTopic(
  discoveryPrefix: string,
  node: string,
  { component, id }: Omit<HomeEntity, 'config'>,
): string {
  return `${discoveryPrefix}/${component}/${node}/${id}/config`
}

/**
 * A text as one level of a topic: what MQTT forbids there is percent-encoded, so that two texts never share a topic.
 * @source MQTT 3.1.1, 1.5.3 and 4.7
 */
export function topicLevel(text: string): string {
  return text.toWellFormed().replace(/[%/+#\p{C}]/gu, (sign) => encodeURIComponent(sign))
}
