/** Keys of the table `http` that a board has beside those of every server: names, forms, the password. */
import { type Static, type TObject, Type } from 'typebox'

export const httpKeys = {
  hosts: Type.Array(Type.String({ minLength: 1, maxLength: 253 }), {
    default: [],
    maxItems: 64,
    description: "names that a request may carry in Host, besides addresses, localhost and the board's own name",
  }),
  form_fields: Type.Integer({
    default: 128,
    minimum: 32,
    maximum: 4096,
    description: 'fields of one form; one with more is refused',
  }),
  login_free_tries: Type.Integer({
    default: 10,
    minimum: 1,
    maximum: 1000,
    description: 'wrong passwords per address from which on answers to them take longer',
  }),
  login_wait_ms: Type.Integer({
    default: 250,
    minimum: 1,
    maximum: 2000,
    unit: 'ms',
    description: 'how much longer at first; doubles with each further one',
  }),
  login_wait_max_ms: Type.Integer({
    default: 2000,
    minimum: 1,
    maximum: 2000,
    unit: 'ms',
    description: 'how much longer at most',
  }),
  login_forget_ms: Type.Integer({
    default: 600_000,
    minimum: 1000,
    maximum: 86_400_000,
    unit: 'ms',
    description: 'time without a wrong password after which an address has all its tries again',
  }),
  login_table: Type.Integer({
    default: 4096,
    minimum: 16,
    maximum: 1_048_576,
    description: 'addresses that are remembered, of wrong passwords and of right ones',
  }),
  login_held: Type.Integer({
    default: 64,
    minimum: 1,
    maximum: 4096,
    description: 'wrong passwords whose answers wait at once, an eighth of them of one address; more are answered 429',
  }),
}

/** The checked keys. */
export type HttpKeys = Static<TObject<typeof httpKeys>>
