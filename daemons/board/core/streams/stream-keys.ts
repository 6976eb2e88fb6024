/** The table `streams` of board.toml: how streams are announced and found. */
import { Type } from 'typebox'

export const streamKeys = Type.Object(
  {
    announce_s: seconds(30, 1, 300, 'how often an encoder announces its stream over SAP'),
    sap_ttl: Type.Integer({
      default: 255,
      minimum: 1,
      maximum: 255,
      description: 'routers that announcements over SAP may cross, and one more',
    }),
    ravenna: Type.Boolean({
      default: true,
      description: 'streams are offered to RAVENNA devices (mDNS and RTSP), and theirs are looked for',
    }),
    rtsp_port: Type.Integer({
      default: 8554,
      minimum: 0,
      maximum: 65_535,
      description: 'TCP port of descriptions over RTSP; where it is taken, or 0, a free one, which is announced',
    }),
    rtsp_clients: count(32, 1, 1024, 'clients of RTSP at once'),
    rtsp_clients_per_host: count(8, 1, 1024, 'clients of RTSP at once from one address (IPv6: one /64)'),
    rtsp_request_ms: milliseconds(5000, 100, 60_000, 'time for one request or one answer over RTSP'),
    rtsp_idle_s: seconds(75, 1, 3600, 'time after which a client of RTSP that says nothing is closed'),
    most: count(512, 1, 4096, 'streams listed; where there are more, those that stay go before new ones'),
    per_sender: count(128, 1, 4096, 'streams listed of one sender'),
    new_per_second: count(500, 1, 100_000, 'streams never heard of before that are looked at in a second'),
    sessions: count(128, 1, 1024, 'sessions of RAVENNA devices that are asked for their descriptions'),
    describe_s: seconds(60, 5, 3600, 'how often a session of a RAVENNA device is asked for its description again'),
    ask_s: seconds(10, 1, 600, 'how often is asked which sessions of RAVENNA devices there are'),
  },
  { additionalProperties: false, default: {}, description: 'how streams are announced and found' },
)

function seconds(value: number, minimum: number, maximum: number, description: string) {
  return Type.Integer({ default: value, minimum, maximum, unit: 's', description })
}

function milliseconds(value: number, minimum: number, maximum: number, description: string) {
  return Type.Integer({ default: value, minimum, maximum, unit: 'ms', description })
}

function count(value: number, minimum: number, maximum: number, description: string) {
  return Type.Integer({ default: value, minimum, maximum, description })
}
