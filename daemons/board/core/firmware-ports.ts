/** What firmware updates need of the world, as interfaces that io/ implements. */

/** Puts images where the next start takes them from. */
export interface Installer {
  /** @throws Fault `ota_not_set_up` where no image could be installed at all */
  refuseUnready(): Promise<void>
  /**
   * Makes room for one image.
   * @param bytes of the whole image, its head included
   * @throws Fault `image_no_room`
   */
  begin(bytes: number): Promise<ImageSlot>
}

/** The place of one image that is being received. The running system does not read from it. */
export interface ImageSlot {
  /** Writes behind what was written. The buffer may be used again afterwards. @throws Fault `image_no_room`, `image_not_kept` */
  write(bytes: Uint8Array): Promise<void>
  /** Resolves when all of it is on the disk. @throws Fault `image_not_kept` */
  finish(): Promise<void>
  /** Hands the image over, once `finish` is done. @throws Fault `image_not_installed` */
  install(): Promise<void>
  /** Leaves nothing behind, whatever was done before. Never throws. */
  discard(): Promise<void>
}

/** SHA-256 over what is fed to it. */
export interface Digest {
  feed(bytes: Uint8Array): void
  /** 64 hex digits. To be called once. */
  hex(): string
}

/** The keys whose images are taken. */
export interface FirmwareKeys {
  /**
   * Reads them anew.
   * @returns tells whether one of them signed these bytes
   * @throws Fault `ota_not_set_up` where there is none, or one cannot be read
   */
  load(): Promise<(signed: Uint8Array, signature: Uint8Array) => boolean>
}

/** The oldest version that is taken, as far as installed images said so. */
export interface FloorBook {
  /** `0.0.0` where none did. */
  floor(): string
  /** Raises it; a version that is not later changes nothing. @throws Fault `store_write_failed` */
  raise(version: string): Promise<void>
}
