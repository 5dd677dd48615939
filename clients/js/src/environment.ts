/** What a browser tells of itself: it is online again, or the page is seen again. Node tells nothing. */
export function watchEnvironment(onAwake: (isOnline: boolean) => void): () => void {
  const scope = globalThis as { addEventListener?: typeof addEventListener; removeEventListener?: typeof removeEventListener };
  const page = typeof document === "undefined" ? undefined : document;
  const onOnline = () => onAwake(true);
  const onVisible = () => {
    if (page?.visibilityState === "visible") onAwake(false);
  };
  scope.addEventListener?.("online", onOnline);
  page?.addEventListener("visibilitychange", onVisible);
  return () => {
    scope.removeEventListener?.("online", onOnline);
    page?.removeEventListener("visibilitychange", onVisible);
  };
}
