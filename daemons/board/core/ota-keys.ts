/** Keys of the table `ota` in board.toml. */
import { type Static, Type } from 'typebox'
import { VERSION_PATTERN } from '../wire/version-number.ts'

/** Which images are taken, and what becomes of them. */
export const otaKeys = Type.Object(
  {
    keys: Type.Array(Type.String({ minLength: 1, maxLength: 4096 }), {
      default: ['/etc/plantroom/firmware-keys'],
      maxItems: 16,
      description: 'files and folders of public keys in PEM; an image that none of them signed is refused',
    }),
    command: Type.Array(Type.String({ minLength: 1, maxLength: 4096 }), {
      default: [],
      maxItems: 32,
      description:
        'program and words that install an image, whose path comes behind them: the whole image as it was sent, which `plantroom firmware unpack` proves and takes apart; where `machine.owned` is set the helper runs /etc/plantroom/install-firmware instead',
    }),
    compatible: Type.String({
      default: 'plantroom-board',
      pattern: '^[A-Za-z0-9._-]{1,64}$',
      description: 'kind of board this is; an image for another is refused',
    }),
    floor: Type.String({
      default: '0.0.0',
      pattern: VERSION_PATTERN,
      description:
        'oldest version that is taken; an image that was installed can raise it, and nothing lowers it again',
    }),
    max_bytes: Type.Integer({
      default: 4_294_967_296,
      minimum: 1024,
      maximum: 68_719_476_736,
      unit: 'bytes',
      description: 'largest image',
    }),
    reserve_bytes: Type.Integer({
      default: 67_108_864,
      minimum: 0,
      maximum: 68_719_476_736,
      unit: 'bytes',
      description: 'room that stays free on the disk beside an image',
    }),
    idle_ms: Type.Integer({
      default: 15_000,
      minimum: 100,
      maximum: 600_000,
      unit: 'ms',
      description: 'time that an upload may stand still before it is cut off',
    }),
    receive_ms: Type.Integer({
      default: 3_600_000,
      minimum: 1000,
      maximum: 86_400_000,
      unit: 'ms',
      description: 'time that an upload may take as a whole',
    }),
    install_ms: Type.Integer({
      default: 930_000,
      minimum: 100,
      maximum: 7_200_000,
      unit: 'ms',
      description: 'time that an image may take to be installed; the helper has a bound of its own, 900 s',
    }),
  },
  { additionalProperties: false, default: {}, description: 'firmware updates' },
)

export type OtaConfig = Static<typeof otaKeys>
