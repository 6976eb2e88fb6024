/** Keys of the table `http` that a board has beside those of every server and of its sign-ins: names and forms. */
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
}

/** The checked keys. */
export type HttpKeys = Static<TObject<typeof httpKeys>>
