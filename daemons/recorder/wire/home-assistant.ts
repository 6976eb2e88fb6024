/** How Home Assistant is told of cameras: the messages of MQTT discovery, one for each entity. */
import { type HomeDevice, type HomeEntity, type HomeOrigin, homeIdentity } from '#kit/pure/home-assistant.ts'

/** A camera with the topic of its state, which is JSON. */
interface HomeCamera {
  /** Begins the ids of its entities. */
  id: string
  stateTopic: string
  device: HomeDevice
  /** Whether the recorder tells motion and occupancy. */
  hasEvents: boolean
}

/** What is told of each camera: a field of its state, and the device class. */
const ENTITIES = [
  { id: 'recording', name: 'Recording', deviceClass: 'running', isOn: "value_json.state == 'recording'" },
  { id: 'motion', name: 'Motion', deviceClass: 'motion', isOn: 'value_json.motion' },
  { id: 'occupancy', name: 'Occupancy', deviceClass: 'occupancy', isOn: 'value_json.occupancy' },
] as const

/**
 * The entities of a camera: whether it is recorded, and whether something moves and somebody is there.
 * @source home-assistant.io, MQTT binary sensor; Binary sensor entity, Available device classes
 */
export function homeCamera({ device, hasEvents, id, stateTopic }: HomeCamera, origin: HomeOrigin): HomeEntity[] {
  return ENTITIES.filter((one) => hasEvents || one.id === 'recording').map((one) => ({
    component: 'binary_sensor',
    id: `${id}_${one.id}`,
    config: {
      ...homeIdentity({ id: `${id}_${one.id}`, name: one.name, device }, origin),
      state_topic: stateTopic,
      value_template: `{{ 'ON' if ${one.isOn} else 'OFF' }}`,
      device_class: one.deviceClass,
      ...(one.id === 'recording' && { entity_category: 'diagnostic' }),
      availability: [{ topic: origin.statusTopic }],
    },
  }))
}
