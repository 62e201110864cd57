// An image that was loaded as a document, with boxes over the cited words.

import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { failure, reach, withApiKey } from "../api/client";
import { Problem, Waiting } from "../ui/parts";
import { useWords } from "../words";
import type { Box } from "./box";
import { Boxes } from "./boxes";

type ImagePageProps = {
  document: string;
  version: string;
  boxes: readonly Box[];
  wrong: readonly Box[];
  zoom: number;
};

export function ImagePage({ document: id, version, boxes, wrong, zoom }: ImagePageProps) {
  const words = useWords();
  // Fetched and not linked to, so that the key goes along.
  const image = useQuery({
    queryKey: ["image", id, version],
    queryFn: async () => {
      const response = await reach(`/documents/${id}/original`, { headers: withApiKey() });
      if (!response.ok) throw await failure(response);
      return response.blob();
    },
  });
  const [address, setAddress] = useState<string>();
  useEffect(() => {
    if (!image.data) return;
    const made = URL.createObjectURL(image.data);
    setAddress(made);
    return () => URL.revokeObjectURL(made);
  }, [image.data]);
  const [size, setSize] = useState<{ width: number; height: number }>();
  const first = useRef<HTMLDivElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the highlight scrolls into view whenever it changes
  useEffect(() => {
    if (size) first.current?.scrollIntoView({ block: "center", inline: "start" });
  }, [size, boxes]);
  if (image.error) return <Problem error={image.error} again={() => image.refetch()} />;
  if (!address) return <Waiting label={words.loading} />;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable regions must be reachable with the keyboard
    <section className="pdf" tabIndex={0} aria-label={words.page(1)}>
      <div className="pdf-page" data-page={size ? 1 : undefined} style={{ width: `${100 * zoom}%` }}>
        <img
          className="image-page"
          src={address}
          alt=""
          onLoad={({ currentTarget: { naturalWidth, naturalHeight } }) =>
            setSize({ width: naturalWidth, height: naturalHeight })
          }
        />
        {size && <Boxes boxes={boxes} wrong={wrong} size={size} first={first} />}
      </div>
    </section>
  );
}
