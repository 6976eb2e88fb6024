/** What the demo says once everything runs. */
import { portPath } from './api-client.ts'
import { buildingPeople } from './building.ts'
import { LOOPBACK } from './free-port.ts'
import { demoLogin, type Scene } from './scene.ts'

/** Addresses, names and passwords, and commands ready to paste. */
export function sceneWords({
  gateway,
  building,
  boards,
  lobby,
  meters,
  cellar,
  scale,
  tcpPort,
  apiKey,
}: Scene): string {
  const { admin, password, viewer } = demoLogin
  const mbpoll = `mbpoll -m tcp -p ${tcpPort} -0`
  const { till, counter, raw, rfc2217 } = boards
  const { music, ceiling, stream } = lobby
  const people = buildingPeople
  return `
Plantroom demo: the controller, the gateway and four boards with simulated devices. Ctrl-C stops everything; nothing is kept.

  Building ${building.url}/   Lindenhof School, 40 simulated zones and a projector that is away
           sign in as ${people.admin}, as ${people.operator} for some rooms, or as ${people.program}; password ${password}

  Gateway  ${gateway.url}/
           sign in as ${admin} or, to look only, as ${viewer}; password ${password}

  ${meters}   Modbus RTU, all well: energy meter (1), relays (2), climate sensor (3), fan drive (4)
  ${cellar}   Modbus RTU, trouble: unit 11 is dead, 12 has a bad cable, 13 answers late; see Units
  ${scale}    raw: a scale that reports every 2 s, its frames go to a webhook; send it Z to zero it

  Board    ${till.url}/   Till, a serial server: two scales, raw at port ${raw.port}, RFC 2217 at port ${rfc2217.port}
  Board    ${counter.url}/   Counter, ${counterWords(boards)}
  Board    ${music.url}/   Lobby music, an encoder: a tone of 997 Hz to ${stream.mcast}:${stream.port}, on loopback alone
  Board    ${ceiling.url}/   Lobby ceiling, a decoder: plays that tone, to no sound card
  Matrix   ${till.url}/matrix   every board from any board; click where the two lobbies cross

Try, in another terminal:
  # every value of the meters, with the key of a program that may only read them
  curl -s ${gateway.url}${portPath(meters, '/points')} -H 'authorization: Bearer ${apiKey}'
  # the same meter's volts over Modbus TCP, and relay 3 on
  ${mbpoll} -1 -a 1 -t 3:float -B -r 0 ${LOOPBACK}
  ${mbpoll} -a 2 -t 0 -r 2 ${LOOPBACK} 1
  # the ceiling falls silent, and plays again
  curl -s ${ceiling.url}/api/route -d mcast=
  curl -s ${ceiling.url}/api/route -d mcast=${stream.mcast} -d port=${stream.port}
  # what the till's scale says next
  bash -c 'head -n 1 </dev/tcp/${LOOPBACK}/${raw.port}'

`
}

function counterWords({ counterRole }: Scene['boards']): string {
  if (counterRole === 'usbip') return 'a USB/IP server: shares a USB device of this machine once you enable it'
  return 'a serial server without lines; it would share a USB device if this kernel had usbip-host loaded'
}
