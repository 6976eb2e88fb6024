/** Bodies of the REST surface: JSON, whatever their Content-Type says. */
import { faultOf } from '#kit/fault.ts'
import { readJson } from '#kit/http/json.ts'
import type { SurfaceCall } from '#kit/http/surface.ts'
import { BODY_BYTES } from './rest-endpoints.ts'

/** A body that was read, or what is wrong with it. */
export type RestBody = { value: unknown } | { flaw: string; isLate: boolean }

/**
 * Older clients name no type, curl names that of a form: it is not looked at, nor a charset, which JSON has not. No body
 * at all is one without fields. A body that says it is compressed is refused: nobody needs 256 KB packed, and unpacking
 * what strangers send is a risk of its own.
 * @source document 1, Limits; Audit denial reasons
 */
export async function readRestBody(call: SurfaceCall): Promise<RestBody> {
  const coding = call.headers['content-encoding']?.trim().toLowerCase() ?? ''
  if (coding !== '' && coding !== 'identity') return flaw('the body is compressed, expected plain JSON')
  const body = await call.body()
  if (body.kind === 'too_large') return flaw(`the body is larger than ${BODY_BYTES} bytes`)
  if (body.kind !== 'whole') return { flaw: 'the body ended before its end', isLate: body.kind === 'late' }
  if (body.bytes.length === 0) return { value: {} }
  try {
    return { value: readJson(body.bytes) }
  } catch (error) {
    return flaw(faultOf(error, 'bad_json', 'the body is no JSON').message)
  }
}

function flaw(sentence: string): RestBody {
  return { flaw: sentence, isLate: false }
}
