/** Text that the demo prints once everything runs. */
import { accessSync, constants } from 'node:fs'
import { join } from 'node:path'
import { portPath } from './api-client.ts'
import { buildingPeople, realZones } from './building.ts'
import { LOOPBACK } from './free-port.ts'
import { demoLogin, type Scene } from './scene.ts'

/**
 * Addresses, names and passwords, and commands ready to paste.
 * @param has whether a program is installed: with only what README requires, Python is used as far as possible
 */
export function sceneWords(
  { gateway, building, recorder, boards, lobby, meters, cellar, flats, scale, trunk, station, tcpPort, apiKey }: Scene,
  has: (program: string) => boolean = isOnPath,
): string {
  const { admin, password, viewer } = demoLogin
  const http = has('curl') ? byCurl : byPython
  const modbus = has('mbpoll') ? byMbpoll(tcpPort) : modbusByPython(tcpPort)
  const { till, counter, raw, rfc2217 } = boards
  const { music, ceiling, kiosk, stream } = lobby
  const order = has('curl') ? orderByCurl : orderByPython
  const people = buildingPeople
  return `
Plantroom demo: the controller, the gateway, the recorder and five boards with simulated devices. Ctrl-C stops everything; nothing is kept.

  Building ${building.url}/   Lindenhof School: 40 simulated zones, a projector that is away, and a lobby on what stands below
           sign in as ${people.admin}, as ${people.operator} for some rooms, or as ${people.program}; password ${password}

  Gateway  ${gateway.url}/
           sign in as ${admin} or, to look only, as ${viewer}; password ${password}

  Recorder ${recorder.url}/   two cameras that show the time of day; sign in as ${admin}, password ${password}

  ${meters}   Modbus RTU, all well: energy meter (1), relays (2), climate sensor (3), fan drive (4)
  ${cellar}   Modbus RTU, trouble: unit 11 is dead, 12 has a bad cable, 13 answers late; see Units
  ${flats}    M-Bus: heat meters of two flats (1, 2), and a water meter by its number (40271828)
  ${scale}    raw: a scale that reports every 2 s, its frames go to a webhook; send it Z to zero it
  ${station}  DNP3: an outstation that a control room asks every 2 s; set its points in the console of its page
  ${trunk}    BACnet MS/TP: a ring of the gateway (1) and three controllers (4, 7, 9)

  Board    ${till.url}/   Till, a serial server: two scales, raw at port ${raw.port}, RFC 2217 at port ${rfc2217.port}
  Board    ${counter.url}/   Counter, ${counterWords(boards)}
  Board    ${music.url}/   Lobby music, an encoder: a tone of 997 Hz to ${stream.mcast}:${stream.port}, on loopback alone
  Board    ${ceiling.url}/   Lobby ceiling, a decoder: plays that tone, to no sound card
  Board    ${kiosk.url}/   Lobby kiosk, a decoder: plays nothing until you choose a source
  Matrix   ${till.url}/matrix   every board from any board; click where lobby music and kiosk cross

Try, on the building's page, in the room Lobby:
  ${realZones.relay} on and off: relay 1 of the gateway's line follows, and a change there comes back to the page
  ${realZones.kiosk} with ${realZones.source} as its source, then its volume, which ends at its limit; on its board's page it plays
  the meter's volts and watts in the Plant room
  Floor plan: the ground floor with its zones where they are; a press on one opens its controls

Try, in another terminal:
  # the same two over the building's REST interface
  ${order(building.url, { zone: realZones.relay, on: true })}
  ${order(building.url, { zone: realZones.kiosk, source: realZones.source })}
  # every value of the meters, with the key of a program that may only read them
  ${http(`${gateway.url}${portPath(meters, '/points')}`, { bearer: apiKey })}
  # the same meter's volts over Modbus TCP, and relay 3 on
  ${modbus.volts}
  ${modbus.relay}
  # the ceiling falls silent, and plays again
  ${http(`${ceiling.url}/api/route`, { form: ['mcast='] })}
  ${http(`${ceiling.url}/api/route`, { form: [`mcast=${stream.mcast}`, `port=${stream.port}`] })}
  # what the till's scale says next
  bash -c 'head -n 1 </dev/tcp/${LOOPBACK}/${raw.port}'

An update server and a second building start now; then it says here where to watch an update.

`
}

function counterWords({ counterRole }: Scene['boards']): string {
  if (counterRole === 'usbip') return 'a USB/IP server: shares a USB device of this machine once you enable it'
  return 'a serial server without lines; it would share a USB device if this kernel had usbip-host loaded'
}

const programLogin = { username: buildingPeople.program, password: demoLogin.password }

/** Options of a request. */
interface Extras {
  bearer?: string
  form?: readonly string[]
}

function byCurl(url: string, { bearer, form = [] }: Extras): string {
  const header = bearer === undefined ? '' : ` -H 'authorization: Bearer ${bearer}'`
  return `curl -s ${url}${form.map((field) => ` -d ${field}`).join('')}${header}`
}

function byPython(url: string, { bearer, form }: Extras): string {
  const data = form === undefined ? '' : `, b"${form.join('&')}"`
  const header = bearer === undefined ? '' : `, headers={"authorization": "Bearer ${bearer}"}`
  return `python3 -c 'from urllib.request import *; print(urlopen(Request("${url}"${data}${header})).read().decode())'`
}

/** Signs in for a token, and sends a command with it. */
function orderByCurl(url: string, command: object): string {
  const signIn = `curl -s ${url}/api/token -d '${JSON.stringify(programLogin)}' | cut -d '"' -f 4`
  return `curl -s ${url}/api/control/command -d '${JSON.stringify(command)}' -H "authorization: Bearer $(${signIn})"`
}

function orderByPython(url: string, command: object): string {
  const bytes = (value: object) => `b"""${JSON.stringify(value)}"""`
  const ask = `ask = lambda path, body, **headers: urlopen(Request("${url}/api/" + path, body, headers)).read()`
  const signIn = `loads(ask("token", ${bytes(programLogin)}))["token"]`
  const send = `ask("control/command", ${bytes(command)}, authorization="Bearer " + ${signIn})`
  return `python3 -c 'from json import loads; from urllib.request import *; ${ask}; print(${send}.decode())'`
}

function byMbpoll(port: number) {
  const program = `mbpoll -m tcp -p ${port} -0`
  return {
    volts: `${program} -1 -a 1 -t 3:float -B -r 0 ${LOOPBACK}`,
    relay: `${program} -a 2 -t 0 -r 2 ${LOOPBACK} 1`,
  }
}

/** The frames mbpoll would send: unit 1, function 4, two registers from 0; unit 2, function 5, coil 2 on. */
function modbusByPython(port: number) {
  const ask = (hex: string, print: string) =>
    `python3 -c 'import socket, struct; s = socket.create_connection(("${LOOPBACK}", ${port})); s.send(bytes.fromhex("${hex}")); print(${print})'`
  return {
    volts: ask('000100000006010400000002', 'struct.unpack(">f", s.recv(260)[9:])[0]'),
    relay: ask('00020000000602050002ff00', 's.recv(260).hex()'),
  }
}

function isOnPath(program: string): boolean {
  return (process.env.PATH ?? '').split(':').some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}
