/** The form by which somebody changes the own password, on the page and over the socket. */
import { Type } from 'typebox'
import { newPassword } from '#kit/auth/credentials.ts'
import { createReader } from '#kit/http/check.ts'

export const readPassword = createReader(
  Type.Object(
    { current: Type.String({ maxLength: 4096, format: 'password' }), password: newPassword },
    { additionalProperties: false },
  ),
)
