/** A JPEG of a camera, with the masks that the camera has when the JPEG is done. */
import type { Mask } from '../../wire/mask.ts'
import type { PictureDecoder, PictureWish } from '../ports.ts'

export interface MaskedPicture {
  jpeg: Uint8Array
  /** What is painted into it. */
  masks: readonly Mask[]
}

interface MaskedParts {
  decoder: Pick<PictureDecoder, 'picture'>
  wish: Omit<PictureWish, 'masks'>
  /** Those of now. @throws Fault `unknown_camera` once it is gone */
  masks(): readonly Mask[]
}

/** @throws Fault, as `PictureDecoder.picture` and `masks` */
export async function maskedPicture(
  { decoder, masks, wish }: MaskedParts,
  signal: AbortSignal,
): Promise<MaskedPicture> {
  for (;;) {
    const painted = masks()
    const jpeg = await decoder.picture({ ...wish, masks: painted }, signal)
    // Else they were changed while it was made.
    if (painted === masks()) return { jpeg, masks: painted }
  }
}
