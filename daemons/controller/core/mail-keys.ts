/** Keys of the table `smtp` in controller.toml. */
import { Type } from 'typebox'

/** How mail with two-factor codes and notifications leaves the box. */
export const mailKeys = Type.Object(
  {
    host: Type.String({
      default: '',
      maxLength: 253,
      description: 'the mail server; empty means that no mail is sent',
    }),
    port: Type.Integer({ default: 587, minimum: 1, maximum: 65_535, description: 'its port' }),
    tls: Type.Enum(['offered', 'required', 'from_start', 'none'], {
      default: 'offered',
      description:
        'offered: STARTTLS where the server has it; required: or nothing is sent; from_start: as on port 465',
    }),
    from: Type.String({ default: '', maxLength: 320, description: 'sender of every mail' }),
    username: Type.String({ default: '', maxLength: 320, description: 'who signs in there; empty means nobody' }),
    password_file: Type.String({ default: '', maxLength: 4096, description: 'file that holds the password alone' }),
    ca_file: Type.String({
      default: '',
      maxLength: 4096,
      description:
        'PEM file of certificate authorities trusted for the mail server besides the usual ones; where one is named, the certificate must be right; empty for none',
    }),
    timeout_ms: Type.Integer({
      default: 15_000,
      minimum: 1000,
      maximum: 300_000,
      unit: 'ms',
      description: 'time that the server has for each answer',
    }),
  },
  { additionalProperties: false, default: {}, description: 'the mail server' },
)
