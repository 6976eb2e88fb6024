/** The table `ptp` of board.toml: the clock that boards share. */
import { type Static, Type } from 'typebox'

const servoKeys = {
  poll_ms: Type.Integer({
    default: 100,
    minimum: 20,
    maximum: 1000,
    unit: 'ms',
    description: 'how often ptp4l is asked for the time; shorter than its masters send theirs, 125 ms',
  }),
  lock_us: Type.Integer({
    default: 50,
    minimum: 1,
    maximum: 10_000,
    unit: 'us',
    description: "how near sound's clock must be to the master's, and how far measurements may scatter, to be locked",
  }),
  step_us: Type.Integer({
    default: 1000,
    minimum: 1,
    maximum: 1_000_000,
    unit: 'us',
    description: "from here on sound's clock jumps to a time that has changed; less than that it catches up with",
  }),
  slew_ppm: Type.Integer({
    default: 400,
    minimum: 1,
    maximum: 500,
    unit: 'ppm',
    description: 'how much faster or slower it runs while it catches up',
  }),
  window_s: Type.Integer({
    default: 16,
    minimum: 2,
    maximum: 120,
    unit: 's',
    description: 'measurements of this time tell how fast the master runs',
  }),
  sync_lost_ms: Type.Integer({
    default: 1000,
    minimum: 200,
    maximum: 60_000,
    unit: 'ms',
    description:
      'time without a message of the master after which it is not followed; with a slow master four messages',
  }),
}

const programKeys = {
  answer_ms: Type.Integer({
    default: 2000,
    minimum: 100,
    maximum: 60_000,
    unit: 'ms',
    description: 'time in which ptp4l answers before it is started again',
  }),
  memory_mb: Type.Integer({
    default: 4,
    minimum: 1,
    maximum: 1024,
    unit: 'MB',
    description: 'memory of ptp4l, which keeps in mind every clock that was ever announced, forged ones too',
  }),
  restart_ms: Type.Integer({
    default: 500,
    minimum: 10,
    maximum: 60_000,
    unit: 'ms',
    description: 'wait before ptp4l is started again; doubled each time',
  }),
  restart_most_ms: Type.Integer({
    default: 30_000,
    minimum: 100,
    maximum: 3_600_000,
    unit: 'ms',
    description: 'the longest such wait',
  }),
  restarts: Type.Integer({
    default: 4,
    minimum: 1,
    maximum: 100,
    description: 'starts in a row that come to nothing before the state is fault; ptp4l is tried further',
  }),
}

const dscp = (description: string) => Type.Integer({ default: -1, minimum: -1, maximum: 63, description })

export const ptpKeys = Type.Object(
  {
    enabled: Type.Boolean({
      default: true,
      description: 'the board follows, or is, a PTP clock; off, sound runs on the clock of this machine',
    }),
    interface: Type.String({
      default: '',
      maxLength: 15,
      description: 'network interface of PTP; empty means that of the streams',
    }),
    domain: Type.Integer({ default: 0, minimum: 0, maximum: 127, description: 'PTP domain' }),
    dscp: Type.Enum(['standard', 'audinate'], {
      default: 'standard',
      description: 'marks of PTP packets: "standard" is 46 for events and 34 for the rest, "audinate" 56 and 46',
    }),
    dscp_event: dscp('mark of Sync and Delay_Req; -1 takes that of `dscp`'),
    dscp_general: dscp('mark of the other PTP packets; -1 takes that of `dscp`'),
    ...servoKeys,
    ...programKeys,
  },
  { additionalProperties: false, default: {}, description: 'the clock of the roles encoder and decoder' },
)

/** The checked table. */
export type PtpConfig = Static<typeof ptpKeys>

const DSCP = { standard: { event: 46, general: 34 }, audinate: { event: 56, general: 46 } }

/** @returns the DSCP values of the two kinds of PTP packets, 0..63 */
export function dscpOf(config: Pick<PtpConfig, 'dscp' | 'dscp_event' | 'dscp_general'>): {
  event: number
  general: number
} {
  const preset = DSCP[config.dscp]
  return {
    event: config.dscp_event < 0 ? preset.event : config.dscp_event,
    general: config.dscp_general < 0 ? preset.general : config.dscp_general,
  }
}
