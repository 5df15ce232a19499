# SPDX-License-Identifier: Apache-2.0
# Perl's MongoDB::GridFSBucket against a server.  usage: perl perl_gridfs.pl URI upload|verify|all NAME SIZE
# (the same bytes as pymongo_gridfs.py makes)
use strict;
use warnings;
use Digest::SHA qw(sha256 sha256_hex);
use MongoDB;

sub content {
    my ($name, $size) = @_;
    my $block = join '', map { sha256("$name $_") } 0 .. 2047;
    return substr $block x (int($size / length $block) + 1), 0, $size;
}

sub upload {
    my ($bucket, $name, $data, $metadata) = @_;
    open my $source, '<:raw', \$data or die "cannot read from memory: $!";
    return $bucket->upload_from_stream($name, $source, {metadata => $metadata});
}

sub download {
    my ($bucket, $id) = @_;
    my $data = '';
    open my $target, '>:raw', \$data or die "cannot write to memory: $!";
    $bucket->download_to_stream($id, $target);
    close $target;
    return $data;
}

sub ensure {
    my ($holds, $what) = @_;
    die "$what\n" unless $holds;
    return;
}

sub ids {
    return join ' ', map { $_->{_id}->hex } @_;
}

sub everything {
    my ($db, $bucket, $name, $data) = @_;
    my $backwards = reverse $data;
    my $files = $db->get_collection('fs.files');
    my $first = upload($bucket, $name, $data, {color => 'red', n => 1});
    my $second = upload($bucket, $name, $backwards, {color => 'blue', n => 2});
    ensure(sha256_hex(download($bucket, $first)) eq sha256_hex($data), 'wrong bytes');
    ensure(sha256_hex(download($bucket, $second)) eq sha256_hex($backwards), 'wrong bytes of the second');
    my @found = $bucket->find({filename => $name, 'metadata.color' => 'blue'})->all;
    ensure(ids(@found) eq $second->hex, 'find by metadata');
    ensure($found[0]{length} == length $data, 'length');
    my $stream = $bucket->open_download_stream($first);
    $stream->read(my $begin, 300_000);
    ensure($begin eq substr($data, 0, 300_000), 'first bytes');
    my @both = $bucket->find({filename => $name}, {sort => {uploadDate => 1}})->all;
    ensure(ids(@both) eq $first->hex . ' ' . $second->hex, 'revisions');
    $files->update_one({_id => $first}, {'$set' => {filename => "$name renamed"}});
    ensure($bucket->find_id($first)->{filename} eq "$name renamed", 'rename');
    ensure(ids($bucket->find({filename => $name})->all) eq $second->hex, 'revisions after the rename');
    $bucket->delete($_) for $first, $second;
    ensure(!eval { $bucket->delete($first); 1 }, 'a deleted file is deleted again');
    ensure(!eval { download($bucket, $first); 1 }, 'a deleted file opens');
    my $chunks = $db->get_collection('fs.chunks');
    ensure($chunks->count_documents({files_id => {'$in' => [$first, $second]}}) == 0, 'chunks remain');
    my $other = $db->gfs({bucket_name => 'perl', chunk_size_bytes => 1000});
    my $small = upload($other, 'small chunks', substr($data, 0, 12_345), {});
    ensure(download($other, $small) eq substr($data, 0, 12_345), 'small chunks');
    $other->drop;
    ensure(!$other->find->has_next, 'a dropped bucket has files');
    return;
}

my ($uri, $action, $name, $size) = @ARGV;
my $db = MongoDB->connect($uri)->get_database('test');
my $bucket = $db->gfs;
my $data = content($name, $size);
if ($action eq 'upload') {
    upload($bucket, $name, $data, {made => 'by perl'});
} elsif ($action eq 'verify') {
    my ($newest) = $bucket->find({filename => $name}, {sort => {uploadDate => -1}, limit => 1})->all;
    my $digest = sha256_hex(download($bucket, $newest->{_id}));
    ensure($digest eq sha256_hex($data), 'wrong bytes');
    print "$digest\n";
} else {
    everything($db, $bucket, $name, $data);
}
