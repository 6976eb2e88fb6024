/** Body of `rest/request`. What belongs together per function is checked in core/modbus-request-check.ts. */
import { Type } from 'typebox'

const word = (description: string) => Type.Optional(Type.Integer({ minimum: 0, maximum: 65_535, description }))

/** One Modbus request. Functions 1 to 6, 15, 16, 22, 23 and 43 (with MEI type 14). */
export const modbusRequestBody = Type.Object(
  {
    unitId: Type.Integer({ minimum: 0, maximum: 255, description: '1..247; 0 is a broadcast, for writes alone' }),
    fc: Type.Integer({ minimum: 1, maximum: 127, description: 'function: 1-6, 15, 16, 22, 23, 43' }),
    address: Type.Integer({
      minimum: 0,
      maximum: 65_535,
      description: 'first coil or register, counted from 0; of 43 the first object',
    }),
    quantity: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 2000,
        description: 'coils or registers; may be left out for 5, 6, 15, 16, 22; of 43 the read device id code 1..4',
      }),
    ),
    values: Type.Optional(
      Type.Array(Type.Union([Type.Integer({ minimum: 0, maximum: 65_535 }), Type.Boolean()]), {
        minItems: 1,
        maxItems: 1968,
        description: 'what 5, 6, 15, 16 and 23 write: 0, 1, true or false per coil, 0..65535 per register',
      }),
    ),
    and_mask: word('of 22: bits kept'),
    or_mask: word('of 22: bits set where and_mask does not keep them'),
    write_address: word('of 23: first register written'),
  },
  { additionalProperties: false },
)
