/** What shapes of answers are made of: objects that have these fields and no others. */
import { type TProperties, type TSchema, Type } from 'typebox'

/** A field that is not named here may not be there: a test finds what a description leaves out. */
export function object<Properties extends TProperties>(properties: Properties, options: { description?: string } = {}) {
  return Type.Object(properties, { ...options, additionalProperties: false })
}

export function orNull<Schema extends TSchema>(schema: Schema) {
  return Type.Union([schema, Type.Null()])
}

export const text = Type.String()
export const count = Type.Integer({ minimum: 0 })
export const number = Type.Number()
export const yesNo = Type.Boolean()
export const instant = Type.Integer({ description: 'epoch milliseconds' })
export const fault = object({ code: text, message: text })
