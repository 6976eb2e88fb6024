/** Settings of the licence. */
import { Type } from 'typebox'
import { milliseconds } from '#kit/pure/setting-keys.ts'

function seconds(byDefault: number, minimum: number, maximum: number, description: string) {
  return Type.Integer({ default: byDefault, minimum, maximum, unit: 's', description })
}

export const license = Type.Object(
  {
    vendor_key_file: Type.String({
      default: '',
      maxLength: 1024,
      description:
        'PEM file with the public key that the vendor signs leases with, or a folder of such; empty: the recorder is not licensed, and nothing is limited',
    }),
    server_url: Type.String({
      default: '',
      maxLength: 256,
      pattern: '^(https?://[^\\s?#@/]+(/[^\\s?#]*)?)?$',
      description:
        'address of the licence server, such as https://licences.example.org; empty: leases come as files alone',
    }),
    renew_s: seconds(43_200, 60, 2_592_000, 'longest wait until a lease is renewed; shortened by chance, up to half'),
    retry_first_s: seconds(60, 1, 86_400, 'wait before a licence server that failed is asked again; doubles each time'),
    retry_max_s: seconds(21_600, 1, 604_800, 'longest such wait'),
    answer_ms: milliseconds(15_000, 100, 120_000, 'how long the licence server may take for an answer'),
    clock_save_s: seconds(
      3600,
      60,
      86_400,
      'how often the latest time that was seen is written, so that a clock that is set back prolongs nothing; cards wear by writes',
    ),
  },
  { additionalProperties: false, default: {}, description: 'the licence of this recorder' },
)
